import {
  adminOperations,
  type LiveProcess,
  type Queue,
  type TraceSummary,
} from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  goneText,
  processAttentionOf,
  runbookOf,
  runbookOfReason,
} from '@customer-platform/contracts/operators';
import type { z } from 'zod';
import { lagOf } from './columns.ts';
import { ask, type ControlPlane, type Listing, type Refusal } from './control-plane-client.ts';
import { age, cut, milliseconds, minute, printable } from './text.ts';

/** One thing that somebody should look at. */
interface Finding {
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

/** The source of a row. */
interface Source {
  plane: ControlPlane;
  command: string;
}

/**
 * Checks what docs/operations.md has somebody look at whose customers complain, in that order, as far as the control plane says it: six
 * requests at most, which change nothing. Without a response to the first, the others are not sent.
 */
export async function check(plane: ControlPlane, account: string | undefined): Promise<CheckedRow[]> {
  const services = await read({ plane, command: 'services' }, adminOperations.listServices, {}, serviceFindings);
  if (services.refusal) return [services];
  const { listQueues, listEndpoints, listDeadEvents, listTraces, listAddresses } = adminOperations;
  const of = (command: string) => ({
    plane,
    command: account === undefined ? command : `${command} --account ${account}`,
  });
  const part = { limit, ...(account !== undefined && { account }) };
  const queues = { plane, command: 'queues list --attention' };
  const failed = { ...part, request_status: 'error' };
  const others = await Promise.all([
    read(queues, listQueues, { attention: true }, queueFindings),
    read(of('endpoints failing'), listEndpoints, { ...part, failing: true }, endpointFindings),
    read(of('dead list'), listDeadEvents, part, deadFindings),
    read(of('traces list --request-status error'), listTraces, failed, traceFindings),
    read({ plane, command: 'addresses list' }, listAddresses, { limit }, addressFindings),
  ]);
  return [services, ...others];
}

/** Returns the lines of a check: a row's verdict and its command, then a few of its findings, cut to `columns`, and their pages. */
export function drawCheck(rows: readonly CheckedRow[], columns: number): string[] {
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
  return [...lines, 'Then Redis, PostgreSQL and the log of NATS: see docs/operations.md'];
}

type Now = Date | undefined;

async function read<Schema extends z.ZodType>(
  { plane, command }: Source,
  operation: Listing<Schema>,
  fields: Record<string, unknown>,
  findingsOf: (body: z.output<Schema>, now: Now) => Finding[],
): Promise<CheckedRow> {
  const outcome = await ask(plane, operation, fields, AbortSignal.timeout(timeoutMs));
  if ('refusal' in outcome) return { command, verdict: 'unknown', findings: [], refusal: outcome.refusal };
  const findings = findingsOf(outcome.body, outcome.now);
  const hasMore = (outcome.body as { has_more?: boolean }).has_more === true;
  return { command, verdict: findings.length > 0 ? 'look' : 'ok', findings, hasMore };
}

/** Response of an operation. */
export type Body<Key extends keyof typeof adminOperations> = (typeof adminOperations)[Key] extends {
  response: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : never;

/** A list lacks what services that are gone have: it is not known to be empty. */
function goneFindings(gone: readonly string[], what: string): Finding[] {
  const text = goneText(gone, what);
  return text ? [{ text: `${text.who}: ${text.so}`, runbooks: [text.runbook] }] : [];
}

export function serviceFindings({ data, gone }: Body<'listServices'>): Finding[] {
  return [...goneFindings(gone, 'processes'), ...data.flatMap(processFindings)];
}

function processFindings(one: LiveProcess): Finding[] {
  const name = [one.service, one.pid].filter((part) => part !== undefined).join(' ');
  return processAttentionOf(one).map(({ text, runbook }) => ({ text: `${name}: ${text}`, runbooks: [runbook] }));
}

export function queueFindings({ data, gone }: Body<'listQueues'>): Finding[] {
  return [
    ...goneFindings(gone, 'queues'),
    ...data.map((queue) => {
      const runbooks = attentionOf(queue).map((reason) => runbookOfReason(reason, queue.queue));
      return { text: queueText(queue), runbooks };
    }),
  ];
}

function queueText(queue: Queue): string {
  const texts: Record<AttentionReason, string> = {
    lag: `lags by ${lagOf(queue)}`,
    dead: `${queue.dead} dead`,
    failed: `${queue.failed_waiting} wait after a failure`,
    paused: queue.paused ? 'paused' : 'paused in part',
  };
  const error = queue.last_error === undefined ? '' : `; ${queue.last_error}`;
  const reasons = attentionOf(queue).map((reason) => texts[reason]);
  return `${queue.service} ${queue.queue}: ${reasons.join(', ')}${error}`;
}

export function endpointFindings({ data, gone }: Body<'listEndpoints'>, now: Now): Finding[] {
  const failing = data.map(({ id, failing_since, pending, last_error = '-' }) => {
    return {
      text: `${id} fails for ${age(failing_since, now)}, ${pending} pending: ${last_error}`,
      runbooks: [runbookOf.failing],
    };
  });
  return [...goneFindings(gone, 'endpoints'), ...failing];
}

function deadFindings({ data, gone }: Body<'listDeadEvents'>): Finding[] {
  const dead = data.map((event) => {
    return { text: `${event.id} of ${event.service} ${event.queue}: ${event.reason}`, runbooks: [runbookOf.dead] };
  });
  return [...goneFindings(gone, 'dead events'), ...dead];
}

function traceFindings({ data }: Body<'listTraces'>, now: Now): Finding[] {
  return data.map((trace) => ({ text: traceText(trace, now), runbooks: ['error-budget-burn'] }));
}

function traceText(
  { operation = 'a request', started_at, request_duration_ms: ms, trace_id }: TraceSummary,
  now: Now,
): string {
  const took = ms === undefined ? '' : ` after ${milliseconds(ms)} ms`;
  return `${trace_id} of ${operation} failed${took}, begun ${age(started_at, now)} ago`;
}

/** Addresses of which some invalid keys were refused with 429. */
function addressFindings({ data }: Body<'listAddresses'>): Finding[] {
  return data
    .filter(({ invalid_keys }) => invalid_keys > 20)
    .map(({ address, invalid_keys, last_at }) => ({
      text: `${address} sent ${invalid_keys} invalid keys in the last hour, the last at ${minute(last_at)}`,
      runbooks: [],
    }));
}
