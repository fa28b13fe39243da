import type { Writable } from 'node:stream';
import type { Queue } from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  goneText,
  processAttentionOf,
  runbookOf,
  runbookOfReason,
} from '@customer-platform/contracts/operators';
import { type EntryOf, lagOf } from './columns.ts';
import { findCommands } from './commands.ts';
import type { OperationKey } from './control-plane-client.ts';
import { age, milliseconds, minute, paint, printable, wrap } from './text.ts';

/** One problem. */
export interface Finding {
  text: string;
  /** Commands that fix the problem, without `--reason`. The operator replaces the words in capital letters. */
  mends?: readonly string[];
  /** Names of pages in docs/runbooks, one for each reason. */
  runbooks: readonly string[];
}

/** Returns a finding if services are gone, since a list without their entries is incomplete. */
export function goneFindings(gone: readonly string[], what: string): Finding[] {
  const text = goneText(gone, what);
  return text ? [{ text: `${text.who}: ${text.so}`, runbooks: [text.runbook] }] : [];
}

/** Functions that return the problems among the entries of a list. */
export const findingsOf = {
  listServices: (processes) =>
    processes.flatMap((one) => {
      const name = [one.service, one.pid].filter((part) => part !== null).join(' ');
      return processAttentionOf(one).map(({ text, runbook }) => ({ text: `${name}: ${text}`, runbooks: [runbook] }));
    }),
  listQueues: (queues) => queues.map(queueFinding),
  listEndpoints: (endpoints, now) =>
    // Disabled endpoints are among the customers' findings, with their reason.
    endpoints
      .filter(({ active }) => active)
      .map(({ id, failing_since, pending, last_error }) => ({
        text: `${id} has failed for ${failing_since ? age(failing_since, now) : '-'}, ${pending} pending: ${last_error ?? '-'}`,
        runbooks: [runbookOf.failing],
      })),
  listDeadEvents: (events) =>
    events.map(({ id, service, queue, reason }) => ({
      text: `${id} of ${service} ${queue}: ${reason}`,
      runbooks: [runbookOf.dead],
    })),
  listTraces: (traces, now) =>
    traces.map(({ trace_id, operation, started_at, request_duration_ms: ms }) => {
      const took = ms === null ? '' : ` after ${milliseconds(ms)} ms`;
      const text = `${trace_id} of ${operation ?? 'a request'} failed${took}, started ${age(started_at, now)} ago`;
      return { text, runbooks: ['error-budget-burn'] };
    }),
  // An address gets 429 after 20 invalid keys.
  listAddresses: (addresses) =>
    addresses
      .filter(({ invalid_keys }) => invalid_keys > 20)
      .map(({ address, invalid_keys, last_at }) => ({
        text: `${address} sent ${invalid_keys} invalid keys in the last hour, the last at ${minute(last_at)}`,
        runbooks: [runbookOf.stranger],
      })),
} satisfies { [Key in OperationKey]?: (entries: readonly EntryOf<Key>[], now: Date) => Finding[] };

function queueFinding(queue: Queue): Finding {
  const reasons = attentionOf(queue);
  const texts: Record<AttentionReason, string> = {
    lag: `lags by ${lagOf(queue)}`,
    dead: `${queue.dead} dead`,
    failed: `${queue.failed_waiting} waiting for a retry`,
    paused: queue.paused ? 'paused' : 'partly paused',
  };
  const error = queue.last_error === null ? '' : `; ${queue.last_error}`;
  return {
    text: `${queue.service} ${queue.queue}: ${reasons.map((reason) => texts[reason]).join(', ')}${error}`,
    runbooks: reasons.map((reason) => runbookOfReason(reason, queue.queue)),
  };
}

/**
 * Returns the first findings as lines, each with the commands that fix it, and then their runbooks. Commands are not wrapped, so that they can
 * be copied.
 */
export function drawFindings(
  findings: readonly Finding[],
  columns: number,
  { indent = '', shown = findings.length, hasMore = false, stream }: View = {},
): string[] {
  const left = findings.length - shown;
  const runbooks = [...new Set(findings.flatMap((finding) => finding.runbooks))];
  return [
    ...findings
      .slice(0, shown)
      .flatMap(({ text, mends = [] }) => [
        ...wrap(printable(text), columns, indent),
        ...mends.map((mend) => paint('bold', `${indent}  $ ${printable(commandLine(mend))}`, stream)),
      ]),
    ...(left > 0 ? [`${indent}and ${hasMore ? 'at least ' : ''}${left} more`] : []),
    ...runbooks.map((name) => paint('dim', `${indent}see docs/runbooks/${name}.md`, stream)),
  ];
}

/** `shown` is the most findings to show. Default: all. */
type View = { indent?: string; shown?: number; hasMore?: boolean | undefined; stream?: Writable | undefined };

/** Returns the full command line, with a reason if the command takes one. */
function commandLine(mend: string): string {
  const { found } = findCommands(mend.split(' '));
  const takesReason = found.some(({ flags }) => flags.some(({ field }) => field === 'reason'));
  return `npm run -s admin -- ${mend}${takesReason ? " --reason 'WHY'" : ''}`;
}
