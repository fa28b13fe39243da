import { parse } from '@babel/parser';

/** A node of a syntax tree, of which keys beyond these follow from its `type`. */
export interface Node {
  type: string;
  /** `line` counts from 1. */
  loc: { start: { line: number } };
  [key: string]: unknown;
}

/** Returns every node of a TypeScript or JavaScript module, parents before children. Throws SyntaxError if it is none. */
export function nodesOf(text: string): Node[] {
  const tree = parse(text, { sourceType: 'module', plugins: ['typescript'] });
  const nodes: Node[] = [];
  const open: object[] = [tree.program];
  for (let node = open.pop(); node; node = open.pop()) {
    if ('type' in node && 'loc' in node) nodes.push(node as Node);
    const children = Object.entries(node).filter(([key]) => key !== 'loc' && !key.endsWith('Comments'));
    for (const [, child] of children.reverse())
      if (child !== null && typeof child === 'object') open.push(child as object);
  }
  return nodes;
}
