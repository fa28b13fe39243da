import type { Writable } from 'node:stream';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { isBusGone } from '@customer-platform/contracts/operators';
import { entryNames, type List } from './columns.ts';
import { type ControlPlane, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { attentionFindings, healthFindings } from './customer-findings.ts';
import { drawFindings, type Finding, findingsOf, goneFindings } from './findings.ts';
import { paint, printable, wrap } from './text.ts';

/** The outcome of one row: `look` where there are findings, `unknown` where there was no response, a refusal, or no bus. */
export interface CheckedRow {
  /** The command that shows all of it. */
  command: string;
  verdict: 'ok' | 'look' | 'unknown';
  findings: Finding[];
  /** There are more than were read. */
  hasMore?: boolean;
  /** Services that did not reply. */
  gone?: readonly string[];
  refusal?: Refusal;
}

/** Deadline of each request. */
const timeoutMs = 15_000;
/** Findings that are read of a list, and that are shown of a row. */
const limit = 100;
const shownFindings = 10;
const indent = '     ';
const colours = { ok: 'green', look: 'yellow', unknown: 'red' } as const;
const withoutBus = { code: 'service_unavailable', message: 'unknown while NATS does not respond' };

/**
 * Checks what docs/operations.md has somebody look at whose customers complain, in that order, as far as the control plane says it: seven
 * requests at most, which change nothing. Without a response to the first, the others are not sent. While the bus does not respond, rows that
 * lack services because of it have no findings: they would only repeat that.
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
    // Addresses are of no account.
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
 * Returns a check for people, rows with a problem first: a row's verdict and its command, then its findings whole, each with the commands that
 * mend it, and their pages. Rows without a problem are one line, and so are those that nothing is known of without the bus.
 */
export function drawCheck(rows: readonly CheckedRow[], columns: number, stream?: Writable): string {
  const problems: string[] = [];
  const joined = { ok: [] as string[], unknown: [] as string[] };
  for (const [index, row] of rows.entries()) {
    const { command, verdict, refusal } = row;
    // Disabled endpoints are in the second row.
    const name = `${index + 1} ${command.split(' --')[0]!.replace(/^endpoints failing/, '$& (active ones)')}`;
    if (verdict === 'ok') joined.ok.push(name);
    else if (refusal === withoutBus) joined.unknown.push(name);
    else {
      const heading = `${index + 1}  ${verdict.padEnd(7)}  ${printable(command)}`;
      const lines = refusal
        ? wrap(printable(`${refusal.code}: ${refusal.message}`), columns, indent)
        : drawFindings(row.findings, columns, { indent, shown: shownFindings, hasMore: row.hasMore, stream });
      problems.push(paint(colours[verdict], heading, stream), ...lines);
    }
  }
  const lineOf = (verdict: keyof typeof joined, title: string) =>
    joined[verdict].length === 0
      ? []
      : wrap(printable(`${title}: ${joined[verdict].join(', ')}`), columns).map((line) =>
          paint(colours[verdict], line, stream),
        );
  const rest = 'Then Redis, PostgreSQL and the log of NATS: see docs/operations.md';
  return [...problems, ...lineOf('unknown', withoutBus.message), ...lineOf('ok', 'ok'), rest].join('\n');
}
