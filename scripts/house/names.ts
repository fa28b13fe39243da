import type { Node, Syntax } from '../syntax.ts';

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
    const declared = /Declarat(?:ion|or)$|^FunctionExpression$/.test(node.type) ? [node.id as Node | null] : [];
    const member = members.includes(node.type) && !node.computed ? [node.key as Node] : [];
    return [...declared, ...member, ...parameters].flatMap(namesIn);
  });
}

/** Names that a binding gives; what an object is taken apart into under its own names was named elsewhere. */
function namesIn(binding: Node | null): Name[] {
  switch (binding?.type) {
    case 'Identifier':
      return [{ name: binding.name as string, line: binding.loc.start.line }];
    case 'PrivateName':
      return namesIn(binding.id as Node);
    case 'AssignmentPattern':
      return namesIn(binding.left as Node);
    case 'RestElement':
      return namesIn(binding.argument as Node);
    case 'TSParameterProperty':
      return namesIn(binding.parameter as Node);
    case 'ArrayPattern':
      return (binding.elements as (Node | null)[]).flatMap(namesIn);
    case 'ObjectPattern':
      return (binding.properties as Node[])
        .filter(({ shorthand }) => !shorthand)
        .flatMap((property) => namesIn(property.type === 'ObjectProperty' ? (property.value as Node) : property));
    default:
      return [];
  }
}
