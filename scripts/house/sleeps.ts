import ts from 'typescript';
import { lineOf, nodesWithin } from '../syntax.ts';
import type { Source } from './source.ts';

/** Test files that may pause, each with the reason. */
const allowedSleeps: Record<string, string> = {
  'packages/service-kit/src/values/with-timeout.test.ts':
    'the timer comes due while the process is busy, which is what the test is about',
  'tests/kill-customer-data.long.test.ts':
    'a process is killed at several moments of work that nothing outside sees; what it asserts holds at any of them',
};

/** Returns a sentence for each pause of a test: a timer that resolves a promise. One that rejects, or plays a slow server, is none. */
export function sleepFaultsOf({ file, nodes }: Source): string[] {
  if (!file.endsWith('.test.ts') || allowedSleeps[file] !== undefined) return [];
  const pauses = nodes.filter((node) => isPromisedTimer(node) || isPause(node));
  return pauses.map((node) => `${file}:${lineOf(node)}: pauses; wait on a condition with a bound, as waitFor does`);
}

function isPromisedTimer(node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) || !/^'(?:node:)?timers\/promises'$/.test(node.moduleSpecifier.getText()))
    return false;
  return node.importClause?.getText() !== '{ setImmediate }';
}

function isPause(node: ts.Node): boolean {
  if (!ts.isCallExpression(node)) return false;
  const callee = node.expression.getText();
  if (/^(?:sleep|delay|pause)$/.test(callee)) return true;
  const [callback] = node.arguments;
  if (!callback || !/^(?:globalThis\.)?set(?:Timeout|Interval)$/.test(callee)) return false;
  const resolvers = ['resolve', resolverAround(node)];
  return nodesWithin(callback).some((each) => ts.isIdentifier(each) && resolvers.includes(each.text));
}

/** Returns the name by which the promise around a node is resolved: the first parameter of its executor. */
function resolverAround(node: ts.Node): string | undefined {
  const promise = ts.findAncestor(
    node,
    (each): each is ts.NewExpression => ts.isNewExpression(each) && each.expression.getText() === 'Promise',
  );
  const executor = promise?.arguments?.[0];
  return executor && ts.isFunctionLike(executor) ? executor.parameters[0]?.name.getText() : undefined;
}
