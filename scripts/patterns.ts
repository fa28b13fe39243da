import { identifiersIn, type Node, nodesOf } from './syntax.ts';

/** Regular expression as written in a file. */
export interface Pattern {
  file: string;
  /** From 1. */
  line: number;
  source: string;
  flags: string;
}

/** Placeholder for escaped text in a pattern: only the rest matters to its time. */
const escapedText = 'escaped';

/**
 * Returns the regular expressions of a TypeScript or JavaScript file: literals, and the constant texts that `RegExp`,
 * `match` and `matchAll` get. `faults` names each `RegExp` whose text is neither constant nor escaped by
 * `RegExp.escape`. Throws SyntaxError if the file cannot be parsed.
 */
export function patternsOf(file: string, text: string): { patterns: Pattern[]; faults: string[] } {
  const nodes = nodesOf(text, file);
  const constants = constantsAmong(nodes);
  const patterns: Pattern[] = [];
  const faults: string[] = [];
  for (const node of nodes) {
    const line = node.loc.start.line;
    if (node.type === 'RegExpLiteral') {
      patterns.push({ file, line, source: node.pattern as string, flags: node.flags as string });
      continue;
    }
    const use = regExpUse(node);
    if (!use) continue;
    const source = use.source && textOf(use.source, constants);
    const flags = use.flags ? textOf(use.flags, constants) : '';
    if (source !== undefined && flags !== undefined) patterns.push({ file, line, source, flags });
    else if (use.isConstructor)
      faults.push(`${file}:${line}: RegExp of text that is neither constant nor escaped by RegExp.escape`);
  }
  return { patterns, faults };
}

/** Returns the initial values of the module's constants by name, without names that another scope binds too. */
function constantsAmong(nodes: Node[]): Map<string, Node> {
  const values = new Map<string, Node>();
  const bindings = nodes.flatMap((node) => {
    if (node.type === 'VariableDeclarator') return identifiersIn(node.id);
    if (node.type === 'CatchClause') return identifiersIn(node.param);
    return ((node.params as unknown[] | undefined) ?? []).flatMap((each) => identifiersIn(each));
  });
  const counts = Map.groupBy(bindings, ({ name }) => name);
  for (const node of nodes) {
    if (node.type !== 'VariableDeclaration' || node.kind !== 'const') continue;
    for (const { id, init } of node.declarations as { id: Node; init: Node | null }[]) {
      const name = id.name as string | undefined;
      if (name && init && counts.get(name)?.length === 1) values.set(name, init);
    }
  }
  return values;
}

const textMethods = ['match', 'matchAll'];

/** Returns the regular expression's source in a call; undefined if the call creates none. */
function regExpUse(
  node: Node,
): { source: Node | undefined; flags: Node | undefined; isConstructor: boolean } | undefined {
  if (!['NewExpression', 'CallExpression', 'OptionalCallExpression'].includes(node.type)) return undefined;
  const callee = node.callee as Node;
  const [first, second] = node.arguments as Node[];
  if (nameOf(callee) === 'RegExp') return { source: first, flags: second, isConstructor: true };
  const method = methodOf(callee);
  if (!method || !textMethods.includes(method) || !first || second) return undefined;
  if (first.type === 'RegExpLiteral') return undefined; // it is a node of its own
  return { source: first, flags: undefined, isConstructor: false };
}

function nameOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name as string;
  const isGlobal = methodOf(node) && (node.object as Node).name === 'globalThis';
  return isGlobal ? methodOf(node) : undefined;
}

function methodOf(node: Node): string | undefined {
  if (!['MemberExpression', 'OptionalMemberExpression'].includes(node.type)) return undefined;
  return (node.property as Node).name as string | undefined;
}

/** Returns an expression's constant text; undefined if it is not constant. */
function textOf(node: Node, constants: Map<string, Node>, depth = 0): string | undefined {
  if (depth > 20) return undefined;
  const inner = (each: unknown) => textOf(each as Node, constants, depth + 1);
  switch (node.type) {
    case 'StringLiteral':
      return node.value as string;
    case 'RegExpLiteral':
      return node.pattern as string;
    case 'TemplateLiteral':
      return templateText(node, 'cooked', inner);
    case 'TaggedTemplateExpression':
      return isMethod(node.tag, 'String', 'raw') ? templateText(node.quasi as Node, 'raw', inner) : undefined;
    case 'BinaryExpression': {
      const [left, right] = [inner(node.left), inner(node.right)];
      return node.operator === '+' && left !== undefined && right !== undefined ? left + right : undefined;
    }
    case 'Identifier': {
      const value = constants.get(node.name as string);
      return value && inner(value);
    }
    case 'MemberExpression':
      return methodOf(node) === 'source' ? inner(node.object) : undefined;
    case 'NewExpression':
      return nameOf(node.callee as Node) === 'RegExp' ? inner((node.arguments as Node[])[0]) : undefined;
    case 'CallExpression':
      return isMethod(node.callee, 'RegExp', 'escape') ? escapedText : undefined;
    default:
      return undefined;
  }
}

function templateText(
  { quasis, expressions }: Node,
  form: 'cooked' | 'raw',
  inner: (each: unknown) => string | undefined,
): string | undefined {
  const texts = (expressions as Node[]).map(inner);
  if (texts.includes(undefined)) return undefined;
  const parts = quasis as { value: Record<typeof form, string> }[];
  return parts.map(({ value }, index) => value[form] + (texts[index] ?? '')).join('');
}

function isMethod(callee: unknown, object: string, method: string): boolean {
  return methodOf(callee as Node) === method && ((callee as Node).object as Node).name === object;
}
