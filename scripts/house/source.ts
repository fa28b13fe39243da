import { dirname, relative, resolve } from 'node:path';
import { isText, type Node, type Syntax, syntaxOf } from '../syntax.ts';

/** A file of TypeScript or JavaScript. `file` is relative to the repository's root. */
export interface Source {
  file: string;
  text: string;
  syntax: Syntax;
  isTest: boolean;
}

/** An import or export of another module, a type's or a literal dynamic one too. */
export interface Import {
  specifier: string;
  /** From 1. */
  line: number;
}

/** Returns a file as the rules read it. Throws SyntaxError if it cannot be parsed. */
export function sourceOf(file: string, text: string): Source {
  const isTest = /\.test\.tsx?$|\/test\//.test(file);
  return { file, text, syntax: syntaxOf(text, file), isTest };
}

/** Returns the modules that a file names, in order. */
export function importsOf({ syntax }: Source): Import[] {
  return syntax.nodes.flatMap((node) => {
    const named =
      node.type === 'CallExpression' && (node.callee as Node).type === 'Import'
        ? (node.arguments as Node[])[0]
        : node.source;
    const source = node.type === 'TSImportType' ? node.argument : named;
    return isText(source) ? [{ specifier: source.value, line: source.loc.start.line }] : [];
  });
}

/** Returns the path, from the repository's root, of the file that a relative specifier names. */
export function targetOf(file: string, specifier: string): string {
  return relative('.', resolve(dirname(file), specifier));
}
