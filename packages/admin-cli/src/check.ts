import type { Writable } from 'node:stream';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { isBusGone } from '@customer-platform/contracts/operators';
import { entryNames, type List } from './columns.ts';
import { type ControlPlane, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { attentionFindings, healthFindings } from './customer-findings.ts';
import { drawFindings, type Finding, findingsOf, goneFindings } from './findings.ts';
import { paint, printable, wrap } from './text.ts';

/** The result of one row: `look` if it has findings, `unknown` if there was no response, an error, or no bus. */
export interface CheckedRow {
  /** The command that shows the full list. */
  command: string;
  verdict: 'ok' | 'look' | 'unknown';
  findings: Finding[];
  /** Whether the list has more entries than were read. */
  hasMore?: boolean;
  /** Services that did not respond. */
  gone?: readonly string[];
  refusal?: Refusal;
}

/** Deadline of each request. */
const timeoutMs = 15_000;
/** Most entries that are read of a list, and most findings that are shown of a row. */
const limit = 100;
const shownFindings = 10;
const indent = '     ';
const colors = { ok: 'green', look: 'yellow', unknown: 'red' } as const;
const withoutBus = { code: 'service_unavailable', message: 'unknown while NATS does not respond' };

/**
 * Runs the checks of docs/operations.md for complaints, in that order, as far as the control plane knows the answers. Sends at most seven
 * requests, which change nothing. If the first gets no response, the others are not sent. While the bus does not respond, rows with missing
 * services are unknown and have no findings, since these would only repeat that.
 */
export async function check(plane: ControlPlane, account: string | undefined): Promise<CheckedRow[]> {
  const services = await readList(plane, 'listServices', 'services', {});
  if (services.refusal) return [services];
  const flag = account === undefined ? '' : ` --account ${account}`;
  const part = { limit, ...(account !== undefined && { account }) };
  const { getAccountHealth, listAttention } = adminOperations;
  const path = getAccountHealth.path.replace('{account_id}', encodeURIComponent(account ?? ''));
  const others = await Promise.all([
    account === undefined
      ? read(plane, listAttention, 'attention', {}, attentionFindings)
      : read(plane, { method: 'GET', path }, `health ${account}`, {}, healthFindings.bind(null, account)),
    readList(plane, 'listQueues', 'queues list --attention', { attention: true }),
    readList(plane, 'listEndpoints', `endpoints failing${flag}`, { ...part, failing: true }),
    readList(plane, 'listDeadEvents', `dead list${flag}`, part),
    readList(plane, 'listTraces', `traces list --request-status error${flag}`, { ...part, request_status: 'error' }),
    // Addresses do not belong to an account.
    ...(account === undefined ? [readList(plane, 'listAddresses', 'addresses list', { limit })] : []),
  ]);
  const known = others.map((row): CheckedRow => {
    if (!isBusGone(services.gone ?? []) || !row.gone?.length) return row;
    return { ...row, verdict: 'unknown', findings: [], refusal: withoutBus };
  });
  return [services, ...known];
}

function readList(plane: ControlPlane, key: keyof typeof findingsOf, command: string, fields: object) {
  const findingsIn = findingsOf[key] as (entries: unknown[], now: Date) => Finding[];
  const find = ({ data, gone = [] }: List<unknown>, now: Date) => [
    ...goneFindings(gone, entryNames[key] ?? 'entries'),
    ...findingsIn(data, now),
  ];
  return read(plane, adminOperations[key], command, fields, find);
}

async function read<Response>(
  plane: ControlPlane,
  operation: Pick<Operation, 'method' | 'path'>,
  command: string,
  fields: object,
  find: (body: Response, now: Date) => Finding[],
): Promise<CheckedRow> {
  try {
    const { body, now } = await send(plane, operation, { ...fields }, AbortSignal.timeout(timeoutMs));
    const findings = find(body as Response, now);
    const { has_more: hasMore = false, gone = [] } = body as Partial<List<unknown>>;
    return { command, verdict: findings.length > 0 ? 'look' : 'ok', findings, hasMore, gone };
  } catch (error) {
    return { command, verdict: 'unknown', findings: [], refusal: refusalOf(error) };
  }
}

/**
 * Formats a check for people, rows with problems first. Such a row has its verdict and command, then its findings with the commands that fix
 * them, and their runbooks. All rows without a problem share one line, and so do the rows that are unknown without the bus.
 */
export function drawCheck(rows: readonly CheckedRow[], columns: number, stream?: Writable): string {
  const problems: string[] = [];
  const joined = { ok: [] as string[], unknown: [] as string[] };
  for (const [index, row] of rows.entries()) {
    const { command, verdict, refusal } = row;
    // The second row has the disabled endpoints.
    const name = `${index + 1} ${command.split(' --')[0]!.replace(/^endpoints failing/, '$& (active only)')}`;
    if (verdict === 'ok') joined.ok.push(name);
    else if (refusal === withoutBus) joined.unknown.push(name);
    else {
      const heading = `${index + 1}  ${verdict.padEnd(7)}  ${printable(command)}`;
      const lines = refusal
        ? wrap(printable(`${refusal.code}: ${refusal.message}`), columns, indent)
        : drawFindings(row.findings, columns, { indent, shown: shownFindings, hasMore: row.hasMore, stream });
      problems.push(paint(colors[verdict], heading, stream), ...lines);
    }
  }
  const lineOf = (verdict: keyof typeof joined, title: string) =>
    joined[verdict].length === 0
      ? []
      : wrap(printable(`${title}: ${joined[verdict].join(', ')}`), columns).map((line) =>
          paint(colors[verdict], line, stream),
        );
  const rest = 'Next, check Redis, PostgreSQL and the NATS log: see docs/operations.md';
  return [...problems, ...lineOf('unknown', withoutBus.message), ...lineOf('ok', 'ok'), rest].join('\n');
}
