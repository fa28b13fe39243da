import type { Writable } from 'node:stream';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { entryNames, type List } from './columns.ts';
import { type ControlPlane, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { attentionFindings, healthFindings } from './customer-findings.ts';
import { type Finding, findingsOf, goneFindings } from './findings.ts';
import { paint, printable, wrap } from './text.ts';

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
/** Findings that are read of a list, and that are shown of a row. */
const limit = 100;
const shownFindings = 10;
const colours = { ok: 'green', look: 'yellow', unknown: 'red' } as const;

/**
 * Checks what docs/operations.md has somebody look at whose customers complain, in that order, as far as the control plane says it: seven
 * requests at most, which change nothing. Without a response to the first, the others are not sent.
 */
export async function check(plane: ControlPlane, account: string | undefined): Promise<CheckedRow[]> {
  const services = await readList(plane, 'listServices', 'services', {});
  if (services.refusal) return [services];
  const flag = account === undefined ? '' : ` --account ${account}`;
  const part = { limit, ...(account !== undefined && { account }) };
  const { getAccountHealth, listAttention } = adminOperations;
  const others = await Promise.all([
    account === undefined
      ? read(plane, listAttention, 'attention', {}, attentionFindings)
      : read(plane, atAccount(getAccountHealth, account), `health ${account}`, {}, healthFindings.bind(null, account)),
    readList(plane, 'listQueues', 'queues list --attention', { attention: true }),
    readList(plane, 'listEndpoints', `endpoints failing${flag}`, { ...part, failing: true }),
    readList(plane, 'listDeadEvents', `dead list${flag}`, part),
    readList(plane, 'listTraces', `traces list --request-status error${flag}`, { ...part, request_status: 'error' }),
    readList(plane, 'listAddresses', 'addresses list', { limit }),
  ]);
  return [services, ...others];
}

const atAccount = ({ method, path }: Operation, account: string) => ({
  method,
  path: path.replace('{account_id}', encodeURIComponent(account)),
});

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
    const hasMore = (body as Partial<List<unknown>>).has_more ?? false;
    return { command, verdict: findings.length > 0 ? 'look' : 'ok', findings, hasMore };
  } catch (error) {
    return { command, verdict: 'unknown', findings: [], refusal: refusalOf(error) };
  }
}

/**
 * Returns a check for people, rows with a problem first: a row's verdict and its command, then its findings whole, each with the commands that
 * mend it, and their pages. Rows without a problem are one line.
 */
export function drawCheck(rows: readonly CheckedRow[], columns: number, stream?: Writable): string {
  const drawn = rows.map((row, index) => {
    const heading = `${index + 1}  ${row.verdict.padEnd(7)}  ${printable(row.command)}`;
    return { ...row, lines: [paint(colours[row.verdict], heading, stream), ...details(row, columns, stream)] };
  });
  const problems = drawn.filter(({ verdict }) => verdict !== 'ok').flatMap(({ lines }) => lines);
  const well = rows.flatMap(({ verdict, command }, index) =>
    verdict === 'ok' ? [`${index + 1} ${command.split(' --')[0]}`] : [],
  );
  const ok = well.length > 0 ? wrap(printable(`ok: ${well.join(', ')}`), columns) : [];
  const rest = 'Then Redis, PostgreSQL and the log of NATS: see docs/operations.md';
  return [...problems, ...ok.map((line) => paint(colours.ok, line, stream)), rest].join('\n');
}

function details({ findings, hasMore, refusal }: CheckedRow, columns: number, stream?: Writable): string[] {
  const left = findings.length - shownFindings;
  const runbooks = [...new Set(findings.flatMap((finding) => finding.runbooks))];
  const lines = (text: string) => wrap(printable(text), columns, '     ');
  return [
    // A command is left to the terminal to wrap, so that it can be copied.
    ...findings
      .slice(0, shownFindings)
      .flatMap(({ text, mends = [] }) => [
        ...lines(text),
        ...mends.map((mend) => paint('bold', `       $ ${printable(mend)}`, stream)),
      ]),
    ...(left > 0 ? [`     and ${left} more${hasMore ? ' at least' : ''}`] : []),
    ...(refusal ? lines(`${refusal.code}: ${refusal.message}`) : []),
    ...runbooks.map((name) => paint('dim', `     see docs/runbooks/${name}.md`, stream)),
  ];
}
