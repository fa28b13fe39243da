import { dirname, relative, resolve } from 'node:path';
import ts from 'typescript';
import { lineOf, nodesOf } from '../syntax.ts';

/** TypeScript or JavaScript file. `file` is relative to the repository's root. */
export interface Source {
  file: string;
  /** Number of lines, including blank lines. */
  lines: number;
  isTest: boolean;
  nodes: ts.Node[];
  imports: Import[];
}

/** Import or export of another module, including type imports and dynamic imports of a literal. */
export interface Import {
  specifier: string;
  /** From 1. */
  line: number;
  /** File of a relative specifier, from the repository's root. */
  target: string | undefined;
}

/** Parses a file for the rules. */
export function sourceOf(file: string, text: string): Source {
  const nodes = nodesOf(text, file);
  const imports = nodes.flatMap((node): Import[] => {
    const named = moduleIn(node);
    if (!named || !ts.isStringLiteral(named)) return [];
    const target = named.text.startsWith('.') ? relative('.', resolve(dirname(file), named.text)) : undefined;
    return [{ specifier: named.text, line: lineOf(named), target }];
  });
  return { file, lines: text.split('\n').length - 1, isTest: /\.test\.tsx?$|\/test\//.test(file), nodes, imports };
}

/** Returns the expression with which a node names a module. */
function moduleIn(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isImport ? node.arguments[0] : undefined;
}
