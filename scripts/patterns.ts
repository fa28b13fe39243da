import ts from 'typescript';
import { lineOf, nodesOf } from './syntax.ts';

/** Regular expression as written in a file. */
export interface Pattern {
  file: string;
  /** From 1. */
  line: number;
  source: string;
  flags: string;
}

/** Placeholder for escaped text in a pattern, because only the rest affects its time. */
const escapedText = 'escaped';

/**
 * Returns the regular expressions of a TypeScript or JavaScript file: literals, and constant strings given to `RegExp`. `faults` names each
 * `RegExp` whose source is neither constant nor escaped by `RegExp.escape`.
 */
export function patternsOf(file: string, text: string): { patterns: Pattern[]; faults: string[] } {
  const nodes = nodesOf(text, file);
  const constants = constantsAmong(nodes);
  const patterns: Pattern[] = [];
  const faults: string[] = [];
  for (const node of nodes) {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      patterns.push({ file, line: lineOf(node), source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    if (!isRegExpCall(node)) continue;
    const [first, second] = node.arguments ?? [];
    const source = first && textOf(first, constants);
    const flags = second ? textOf(second, constants) : '';
    if (source !== undefined && flags !== undefined) patterns.push({ file, line: lineOf(node), source, flags });
    else faults.push(`${file}:${lineOf(node)}: the source of a RegExp must be constant or escaped by RegExp.escape`);
  }
  return { patterns, faults };
}

function isRegExpCall(node: ts.Node): node is ts.CallExpression | ts.NewExpression {
  return (
    (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
    /^(?:globalThis\.)?RegExp$/.test(node.expression.getText())
  );
}

/** Returns the initial values of the module's constants by name, without names that another scope also binds. */
function constantsAmong(nodes: ts.Node[]): Map<string, ts.Expression> {
  const bindings = nodes.filter(
    (node) => ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node),
  );
  const constants = new Map<string, ts.Expression>();
  for (const [name, [only, ...others]] of Map.groupBy(bindings, (node) => node.name.getText())) {
    const isConstant = (ts.getCombinedNodeFlags(only!) & ts.NodeFlags.Const) !== 0;
    if (others.length === 0 && isConstant && ts.isVariableDeclaration(only!) && only.initializer)
      constants.set(name, only.initializer);
  }
  return constants;
}

/** Returns the string value of a constant expression; undefined if it is not constant. */
function textOf(node: ts.Expression, constants: Map<string, ts.Expression>): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isIdentifier(node)) {
    const value = constants.get(node.text);
    return value && textOf(value, constants);
  }
  if (ts.isTaggedTemplateExpression(node) && ts.isNoSubstitutionTemplateLiteral(node.template))
    return node.tag.getText() === 'String.raw' ? node.template.rawText : undefined;
  if (ts.isCallExpression(node)) return node.expression.getText() === 'RegExp.escape' ? escapedText : undefined;
  if (!ts.isTemplateExpression(node)) return undefined;
  const parts = node.templateSpans.flatMap(({ expression, literal }) => [textOf(expression, constants), literal.text]);
  return parts.includes(undefined) ? undefined : node.head.text + parts.join('');
}
