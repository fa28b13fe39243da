import { parse } from '@babel/parser';

/** Node of a syntax tree; its other keys depend on its `type`. */
export interface Node {
  type: string;
  /** Lines, from 1. */
  loc: { start: { line: number }; end: { line: number } };
  [key: string]: unknown;
}

/** Comment: its text without delimiters, and its first line, from 1. */
export interface Comment {
  text: string;
  line: number;
}

/** Nodes of a module, parents before children, its comments in order, and each node's parent by the node. */
export interface Syntax {
  nodes: Node[];
  comments: Comment[];
  parents: Map<Node, Node>;
}

/** Returns the syntax of a TypeScript or JavaScript module, with JSX in a `.tsx` file. Throws SyntaxError if it cannot be parsed. */
export function syntaxOf(text: string, file = ''): Syntax {
  const tree = parse(text, {
    sourceType: 'module',
    plugins: file.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'],
  });
  const nodes: Node[] = [];
  const parents = new Map<Node, Node>();
  const open: { item: object; parent: Node | undefined }[] = [{ item: tree.program, parent: undefined }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { item, parent } = next;
    const node = 'type' in item && 'loc' in item ? (item as Node) : undefined;
    if (node) nodes.push(node);
    if (node && parent) parents.set(node, parent);
    const children = Object.entries(item).filter(([key]) => key !== 'loc' && !key.endsWith('Comments'));
    for (const [, child] of children.reverse())
      if (child !== null && typeof child === 'object') open.push({ item: child as object, parent: node ?? parent });
  }
  const comments = (tree.comments ?? []).map(({ value, loc }) => ({ text: value, line: loc!.start.line }));
  return { nodes, comments, parents };
}

/** Returns whether a node is a text literal. */
export function isText(node: unknown): node is Node & { value: string } {
  return (node as Node | null | undefined)?.type === 'StringLiteral';
}

/** Returns the identifiers that a binding pattern binds; `takes` chooses among the properties of objects. */
export function identifiersIn(binding: unknown, takes = (_property: Node) => true): Node[] {
  const node = binding as Node | null | undefined;
  const inner = (each: unknown) => identifiersIn(each, takes);
  switch (node?.type) {
    case 'Identifier':
      return [node];
    case 'PrivateName':
      return inner(node.id);
    case 'AssignmentPattern':
      return inner(node.left);
    case 'RestElement':
      return inner(node.argument);
    case 'TSParameterProperty':
      return inner(node.parameter);
    case 'ArrayPattern':
      return (node.elements as unknown[]).flatMap(inner);
    case 'ObjectPattern':
      return (node.properties as Node[])
        .filter(takes)
        .flatMap((property) => inner(property.type === 'ObjectProperty' ? property.value : property));
    default:
      return [];
  }
}

/** Returns every node of a TypeScript or JavaScript module, parents before children. Throws SyntaxError if it cannot be parsed. */
export function nodesOf(text: string, file = ''): Node[] {
  return syntaxOf(text, file).nodes;
}
