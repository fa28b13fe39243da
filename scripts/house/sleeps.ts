import ts from 'typescript';
import { lineOf, nodesWithin } from '../syntax.ts';
import type { Source } from './source.ts';

/** Test files that may pause, with the reason. */
const allowedSleeps: Record<string, string> = {
  'packages/service-kit/src/values/with-timeout.test.ts':
    'the test is about a timer that comes due while the process is busy',
  'tests/kill-customer-data.long.test.ts':
    'a process is killed at several moments that are not visible from outside; the assertions hold at any of them',
};

/** Returns a sentence for each pause in a test: a timer that resolves a promise. A timer that rejects, or simulates a slow server, is allowed. */
export function sleepFaultsOf({ file, nodes }: Source): string[] {
  if (!file.endsWith('.test.ts') || allowedSleeps[file] !== undefined) return [];
  const pauses = nodes.filter((node) => isPromisedTimer(node) || isPause(node));
  return pauses.map((node) => `${file}:${lineOf(node)}: pauses; wait for a condition with a timeout, as waitFor does`);
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

/** Returns the name of the function that resolves the promise around a node: the executor's first parameter. */
function resolverAround(node: ts.Node): string | undefined {
  const promise = ts.findAncestor(
    node,
    (each): each is ts.NewExpression => ts.isNewExpression(each) && each.expression.getText() === 'Promise',
  );
  const executor = promise?.arguments?.[0];
  return executor && ts.isFunctionLike(executor) ? executor.parameters[0]?.name.getText() : undefined;
}
