import type { Node, Syntax } from '../syntax.ts';
import type { Source } from './source.ts';

/** Test files that may pause, each with the reason. */
export const allowedSleeps: Record<string, string> = {
  'packages/service-kit/src/values/with-timeout.test.ts':
    'the timer comes due while the process is busy, which is what the test is about',
  'tests/kill-customer-data.long.test.ts':
    'a process is killed at several moments of work that nothing outside sees; what it asserts holds at any of them',
};

/**
 * Returns a sentence for each pause of a test, and for each allowed file that has none. A pause is a timer that
 * resolves a promise; one that rejects, or that plays a slow server, is none.
 */
export function sleepFaultsOf(sources: Source[], allowed = allowedSleeps): string[] {
  const pauses = sources
    .filter(({ file }) => file.endsWith('.test.ts'))
    .flatMap(({ file, syntax }) => pausesOf(syntax).map((node) => ({ file, line: node.loc.start.line })));
  const stale = Object.keys(allowed).filter((file) => !pauses.some((each) => each.file === file));
  return [
    ...pauses
      .filter(({ file }) => allowed[file] === undefined)
      .map(({ file, line }) => `${file}:${line}: pauses; wait on a condition with a bound, as waitFor does`),
    ...stale.map((file) => `scripts/house/sleeps.ts: ${file} is allowed and does not pause; remove it`),
  ];
}

const pauseNames = ['sleep', 'delay', 'pause'];
const timers = ['setTimeout', 'setInterval'];

function pausesOf({ nodes, parents }: Syntax): Node[] {
  return nodes.filter((node) => {
    if (node.type === 'ImportDeclaration') return isPromisedTimer(node);
    if (node.type !== 'CallExpression') return false;
    const callee = node.callee as Node;
    const name = nameOf(callee);
    if (callee.type === 'Identifier' && pauseNames.includes(name)) return true;
    if (!timers.includes(name)) return false;
    const [callback] = node.arguments as Node[];
    const resolvers = ['resolve', ...resolversAround(node, parents)];
    return namesWithin(callback).some((each) => resolvers.includes(each));
  });
}

function isPromisedTimer({ source, specifiers }: Node): boolean {
  const { value } = source as Node;
  if (value !== 'timers/promises' && value !== 'node:timers/promises') return false;
  return (specifiers as Node[]).some((each) => nameOf(each.imported as Node | undefined) !== 'setImmediate');
}

/** Names by which the promises around a node are resolved: the first parameters of their executors. */
function resolversAround(node: Node, parents: Map<Node, Node>): string[] {
  const names: string[] = [];
  for (let each: Node | undefined = node; each; each = parents.get(each)) {
    if (each.type !== 'NewExpression' || nameOf(each.callee as Node) !== 'Promise') continue;
    const [executor] = each.arguments as Node[];
    const [first] = (executor?.params ?? []) as Node[];
    if (first) names.push(nameOf(first));
  }
  return names;
}

/** The name of an identifier or of the property that an expression reads, empty where it is neither. */
function nameOf(node: Node | undefined): string {
  if (node?.type === 'MemberExpression') return nameOf(node.property as Node);
  return node?.type === 'Identifier' ? (node.name as string) : '';
}

function namesWithin(node: Node | undefined): string[] {
  if (!node) return [];
  const inner = Object.entries(node).flatMap(([key, value]) => {
    if (key === 'loc' || value === null || typeof value !== 'object') return [];
    return [value].flat().flatMap((each) => namesWithin(each as Node));
  });
  return node.type === 'Identifier' ? [node.name as string, ...inner] : inner;
}
