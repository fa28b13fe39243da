import ts from 'typescript';

/** Returns every node of a TypeScript or JavaScript module, parents before children, with JSX in a `.tsx` file. */
export function nodesOf(text: string, file = 'module.ts'): ts.Node[] {
  return nodesWithin(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
}

/** Returns a node and all its descendants. */
export function nodesWithin(node: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (each: ts.Node) => {
    nodes.push(each);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return nodes;
}

/** Returns the line of a node's first character, from 1. */
export function lineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
}
