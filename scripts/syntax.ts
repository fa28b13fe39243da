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

/** Returns the syntax of a TypeScript or JavaScript module. Throws SyntaxError if it cannot be parsed. */
export function syntaxOf(text: string): Syntax {
  const tree = parse(text, { sourceType: 'module', plugins: ['typescript'] });
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

/** Returns every node of a TypeScript or JavaScript module, parents before children. Throws SyntaxError if it cannot be parsed. */
export function nodesOf(text: string): Node[] {
  return syntaxOf(text).nodes;
}
