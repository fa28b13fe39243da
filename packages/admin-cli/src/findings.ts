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
import type { OperationKey } from './control-plane-client.ts';
import { age, milliseconds, minute } from './text.ts';

/** One thing that somebody should look at. */
export interface Finding {
  text: string;
  /** Commands that mend it; a capital word stands for what whoever runs it fills in. */
  mends?: readonly string[];
  /** Names of pages in docs/runbooks, one for each reason. */
  runbooks: readonly string[];
}

/** A list lacks what services that are gone have: it is not known to be empty. */
export function goneFindings(gone: readonly string[], what: string): Finding[] {
  const text = goneText(gone, what);
  return text ? [{ text: `${text.who}: ${text.so}`, runbooks: [text.runbook] }] : [];
}

/** Returns what somebody should look at of the entries of a list. */
export const findingsOf = {
  listServices: (processes) =>
    processes.flatMap((one) => {
      const name = [one.service, one.pid].filter((part) => part !== null).join(' ');
      return processAttentionOf(one).map(({ text, runbook }) => ({ text: `${name}: ${text}`, runbooks: [runbook] }));
    }),
  listQueues: (queues) => queues.map(queueFinding),
  listEndpoints: (endpoints, now) =>
    // One that is disabled is named with its reason, by what customers meet.
    endpoints
      .filter(({ active }) => active)
      .map(({ id, failing_since, pending, last_error }) => ({
        text: `${id} fails for ${failing_since ? age(failing_since, now) : '-'}, ${pending} pending: ${last_error ?? '-'}`,
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
      const text = `${trace_id} of ${operation ?? 'a request'} failed${took}, begun ${age(started_at, now)} ago`;
      return { text, runbooks: ['error-budget-burn'] };
    }),
  // Of an address with more than 20, some were refused with 429.
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
    failed: `${queue.failed_waiting} wait after a failure`,
    paused: queue.paused ? 'paused' : 'paused in part',
  };
  const error = queue.last_error === null ? '' : `; ${queue.last_error}`;
  return {
    text: `${queue.service} ${queue.queue}: ${reasons.map((reason) => texts[reason]).join(', ')}${error}`,
    runbooks: reasons.map((reason) => runbookOfReason(reason, queue.queue)),
  };
}
