import { adminOperations, type Queue } from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  goneText,
  processAttentionOf,
  runbookOf,
  runbookOfReason,
} from '@customer-platform/contracts/operators';
import { type EntryOf, entryNames, type List, lagOf } from './columns.ts';
import { type ControlPlane, type OperationKey, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { age, cut, milliseconds, minute, printable } from './text.ts';

/** One thing that somebody should look at. */
export interface Finding {
  text: string;
  /** Names of pages in docs/runbooks, one for each reason; empty where the command itself says what to do. */
  runbooks: readonly string[];
}

/** The outcome of one row: `look` where there are findings, `unknown` where there was no response, or a refusal. */
export interface CheckedRow {
  /** The command that shows all of it. */
  command: string;
  verdict: 'ok' | 'look' | 'unknown';
  findings: Finding[];
  /** There are more than were read. */
  hasMore?: boolean;
  refusal?: Refusal;
}

/** Deadline of each request. */
const timeoutMs = 15_000;
/** Findings that are read of a list, and lines that are shown of one. */
const limit = 100;
const shownFindings = 5;

/**
 * Checks what docs/operations.md has somebody look at whose customers complain, in that order, as far as the control plane says it: six
 * requests at most, which change nothing. Without a response to the first, the others are not sent.
 */
export async function check(plane: ControlPlane, account: string | undefined): Promise<CheckedRow[]> {
  const services = await read(plane, 'listServices', 'services', {});
  if (services.refusal) return [services];
  const flag = account === undefined ? '' : ` --account ${account}`;
  const part = { limit, ...(account !== undefined && { account }) };
  const failed = { ...part, request_status: 'error' };
  const others = await Promise.all([
    read(plane, 'listQueues', 'queues list --attention', { attention: true }),
    read(plane, 'listEndpoints', `endpoints failing${flag}`, { ...part, failing: true }),
    read(plane, 'listDeadEvents', `dead list${flag}`, part),
    read(plane, 'listTraces', `traces list --request-status error${flag}`, failed),
    read(plane, 'listAddresses', 'addresses list', { limit }),
  ]);
  return [services, ...others];
}

async function read(plane: ControlPlane, key: CheckedKey, command: string, fields: object): Promise<CheckedRow> {
  try {
    const { body, now } = await send(plane, adminOperations[key], { ...fields }, AbortSignal.timeout(timeoutMs));
    const { data, gone = [], has_more = false } = body as List<unknown>;
    const findingsIn = findingsOf[key] as (entries: unknown[], now: Date) => Finding[];
    const findings = [...goneFindings(gone, entryNames[key] ?? 'entries'), ...findingsIn(data, now)];
    return { command, verdict: findings.length > 0 ? 'look' : 'ok', findings, hasMore: has_more };
  } catch (error) {
    return { command, verdict: 'unknown', findings: [], refusal: refusalOf(error) };
  }
}

/** Returns a check for people: a row's verdict and its command, then a few of its findings, cut to `columns`, and their pages. */
export function drawCheck(rows: readonly CheckedRow[], columns: number): string {
  const lines = rows.flatMap(({ command, verdict, findings, hasMore, refusal }, index) => {
    const left = findings.length - shownFindings;
    const runbooks = [...new Set(findings.flatMap((finding) => finding.runbooks))];
    const details = [
      ...findings.slice(0, shownFindings).map(({ text }) => text),
      ...(left > 0 ? [`and ${left} more${hasMore ? ' at least' : ''}`] : []),
      ...(refusal ? [`${refusal.code}: ${refusal.message}`] : []),
      ...runbooks.map((name) => `see docs/runbooks/${name}.md`),
    ];
    const shown = details.map((each) => cut(`     ${printable(each)}`, columns));
    return [`${index + 1}  ${verdict.padEnd(7)}  ${printable(command)}`, ...shown];
  });
  return [...lines, 'Then Redis, PostgreSQL and the log of NATS: see docs/operations.md'].join('\n');
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
    endpoints.map(({ id, failing_since, pending, last_error }) => ({
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
        runbooks: [],
      })),
} satisfies { [Key in OperationKey]?: (entries: readonly EntryOf<Key>[], now: Date) => Finding[] };

type CheckedKey = keyof typeof findingsOf;

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
