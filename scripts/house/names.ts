import { identifiersIn, type Node, type Syntax } from '../syntax.ts';

/** A name that a module gives to something. `line` counts from 1. */
export interface Name {
  name: string;
  line: number;
}

const members = [
  'ClassMethod',
  'ClassPrivateMethod',
  'ClassProperty',
  'ClassPrivateProperty',
  'ObjectMethod',
  'TSPropertySignature',
  'TSMethodSignature',
];

/** Returns the names that a module gives: of values, types, parameters and members. Not those that others gave and it uses. */
export function namesGivenIn({ nodes }: Syntax): Name[] {
  return nodes.flatMap((node) => {
    const parameters = ((node.params ?? node.parameters) as Node[] | undefined) ?? [];
    const declared = /Declarat(?:ion|or)$|^FunctionExpression$/.test(node.type) ? [node.id] : [];
    const member = members.includes(node.type) && !node.computed ? [node.key] : [];
    // What an object is taken apart into under its own names was named elsewhere.
    return [...declared, ...member, ...parameters]
      .flatMap((binding) => identifiersIn(binding, ({ shorthand }) => !shorthand))
      .map(({ name, loc }) => ({ name: name as string, line: loc.start.line }));
  });
}
