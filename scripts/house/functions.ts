import type { Node, Syntax } from '../syntax.ts';
import type { Exception } from './ratchet.ts';
import type { Source } from './source.ts';

const maxFunctionLines = 70;
const maxParameters = 4;

const functionTypes = [
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
];

/** Returns the functions of more than 70 lines, signature included. A `describe` of tests is no function but a heading. */
export function longFunctionsOf(source: Source): Exception[] {
  const linesOf = ({ loc }: Node) => loc.end.line - loc.start.line + 1;
  return exceptionsOf(source, linesOf, maxFunctionLines, `lines; ${maxFunctionLines} are the most`);
}

/** Returns the functions of more than four positional parameters. */
export function wideFunctionsOf(source: Source): Exception[] {
  const parametersOf = ({ params }: Node) => (params as Node[]).filter((each) => each.name !== 'this').length;
  const most = `positional parameters; ${maxParameters} are the most, an object has the rest`;
  return exceptionsOf(source, parametersOf, maxParameters, most);
}

function exceptionsOf(source: Source, numberOf: (node: Node) => number, most: number, told: string): Exception[] {
  return functionsOf(source).flatMap(({ node, name, where }) => {
    const number = numberOf(node);
    const within = name.slice(name.indexOf(' ') + 1);
    return number > most ? [{ name, number, where, sentence: `${within} has ${number} ${told}` }] : [];
  });
}

/** Returns each function with a name that is the only one in its file, such as `src/a.ts Queue.take` or `src/a.ts start > callback of map`. */
function functionsOf({ file, syntax }: Source): { node: Node; name: string; where: string }[] {
  const known = new Map<string, number>();
  return syntax.nodes
    .filter((node) => functionTypes.includes(node.type) && !isDescribed(node, syntax))
    .map((node) => {
      const path = pathOf(node, syntax);
      const count = (known.get(path) ?? 0) + 1;
      known.set(path, count);
      const name = `${file} ${path}${count > 1 ? ` #${count}` : ''}`;
      return { node, name, where: `${file}:${node.loc.start.line}` };
    });
}

function isDescribed(node: Node, { parents }: Syntax): boolean {
  const parent = parents.get(node);
  if (parent?.type !== 'CallExpression') return false;
  let callee = parent.callee as Node;
  while (callee.type === 'CallExpression' || callee.type === 'MemberExpression')
    callee = (callee.callee ?? callee.object) as Node;
  return callee.name === 'describe';
}

/** Names of a function and of those around it, from the outermost. */
function pathOf(node: Node, { parents }: Syntax): string {
  const names: string[] = [];
  for (let each: Node | undefined = node; each; each = parents.get(each))
    if (functionTypes.includes(each.type)) names.unshift(nameOf(each, parents));
  return names.join(' > ');
}

function nameOf(node: Node, parents: Map<Node, Node>): string {
  const own = textOf(node.id) ?? textOf(node.key);
  const parent = parents.get(node);
  if (own && parent?.type === 'ClassBody') return `${textOf(parents.get(parent)!.id) ?? 'class'}.${own}`;
  if (own) return own;
  if (parent?.type === 'CallExpression' || parent?.type === 'NewExpression') {
    const [first] = parent.arguments as Node[];
    const title = first?.type === 'StringLiteral' ? ` '${first.value as string}'` : '';
    return `callback of ${calleeName(parent.callee as Node)}${title}`;
  }
  return textOf(parent?.id) ?? textOf(parent?.key) ?? textOf(parent?.left) ?? 'function';
}

function calleeName(node: Node): string {
  return textOf(node) ?? textOf(node.property) ?? (node.callee ? calleeName(node.callee as Node) : 'call');
}

/** The text of a name, a private one with its hash. */
function textOf(node: unknown): string | undefined {
  const { type, name, id, value } = (node ?? {}) as Node;
  if (type === 'PrivateName') return `#${(id as Node).name as string}`;
  if (type === 'Identifier') return name as string;
  return type === 'StringLiteral' ? (value as string) : undefined;
}
