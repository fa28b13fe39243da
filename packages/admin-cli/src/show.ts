import { goneText, isBusGone } from '@customer-platform/contracts/operators';
import { entryNames, type List, listColumns, partColumns, pauseText, queueColumns } from './columns.ts';
import type { Answer, Body, OperationKey } from './control-plane-client.ts';
import { attentionFindings } from './customer-findings.ts';
import { drawFindings, findingsOf } from './findings.ts';
import { type Columns, cellsOf, record, type Screen, table } from './table.ts';
import { age, printable } from './text.ts';
import { waterfall } from './waterfall.ts';

/** A hex dump shows at most this many bytes of a dead event. */
const dumpedBytes = 512;

type Entry = Record<string, unknown>;

/** Responses that need their own format. */
const views: { [Key in OperationKey]?: (body: Body<Key>, screen: Screen) => string[] } = {
  getQueue: queueLines,
  getDeadEvent: deadLines,
  getTrace: waterfall,
  getEndpoint: sections,
  getAccountHealth: sections,
  listAttention: attentionLines,
  retryQueue: ({ matched }) => [`${matched} due now`],
  requeueDeadEvents: ({ matched }) => [`${matched} requeued`],
  republishEvents: ({ matched }) => [`${matched} published again`],
  replayEndpoint: ({ matched }) => [`${matched} deliveries are sent again`],
  resendMessages: ({ matched }) => [`${matched} messages are sent again`],
};

/** Formats a response for people. Without a view, a list is a table, and any other response has one line per field. */
export function show(key: OperationKey, { body, now }: Answer<unknown>, columns: number): string {
  if (body === undefined) return 'done';
  const screen = { columns, now };
  const view = views[key] as ((body: unknown, screen: Screen) => string[]) | undefined;
  if (view) return view(body, screen).join('\n');
  const isList = Array.isArray((body as List<Entry>).data);
  return (isList ? listLines(key, body as List<Entry>, screen) : record(body as object)).join('\n');
}

/** Formats a list below the services whose entries are missing. If the bus is gone, an empty list is unknown and has no table. */
function listLines(key: OperationKey, { data, next, gone = [] }: List<Entry>, screen: Screen): string[] {
  const columns = (listColumns[key] as Columns<Entry> | undefined) ?? fieldColumns(data, true);
  const isUnknown = data.length === 0 && isBusGone(gone);
  return [
    ...goneLines(gone, entryNames[key] ?? 'entries'),
    ...(isUnknown ? [] : table(data, columns, screen)),
    ...(next ? [`more: --starting-after ${printable(next)}`] : []),
  ];
}

function goneLines(gone: readonly string[], what: string): string[] {
  const text = goneText(gone, what);
  return text ? [`${text.who}:`, `${text.so}. See docs/runbooks/${text.runbook}.md`] : [];
}

/** Formats the problems of all customers as `check` does. */
function attentionLines(attention: Body<'listAttention'>, { columns, now }: Screen): string[] {
  const findings = [...attentionFindings(attention, now), ...findingsOf.listAddresses(attention.addresses)];
  return findings.length === 0 ? ['none'] : drawFindings(findings, columns);
}

/** Returns a column for each field of any row. Lists omit objects and the account, which the command already names. */
function fieldColumns(rows: readonly Entry[], isList = false): Columns<Entry> {
  const names = new Set(rows.flatMap(Object.keys));
  const isHidden = (name: string) => name === 'account' || rows.some((row) => isRecord(row[name]));
  return Object.fromEntries([...names].filter((name) => !isList || !isHidden(name)).map((name) => [name, name]));
}

/** Formats one line per field, named by its path, then a table per list. Omits empty and 0 values. */
function sections(shown: object, screen: Screen): string[] {
  const { gone = [], ...body }: { gone?: string[] } = shown;
  const filled = leavesOf(body).filter(([, value]) => value !== 0 && value !== null && `${value}` !== '');
  const isTable = ([, value]: Leaf) => Array.isArray(value) && isRecord(value[0]);
  const { tables = [], fields = [] } = Object.groupBy(filled, (leaf) => (isTable(leaf) ? 'tables' : 'fields'));
  const lists = tables.flatMap(([name, rows]) => ['', `${name}:`, ...table(rows, fieldColumns(rows), screen)]);
  return [...goneLines(gone, 'parts'), ...record(Object.fromEntries(fields)), ...lists];
}

// biome-ignore lint/suspicious/noExplicitAny: a value of any shape
type Leaf = [path: string, value: any];

const leavesOf = (thing: object, prefix = ''): Leaf[] =>
  Object.entries(thing).flatMap(([name, value]): Leaf[] =>
    isRecord(value) ? leavesOf(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]],
  );

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a queue with the columns of the list, its pauses, its shares, and the last hour if requested. */
function queueLines({ top, history, ...queue }: Body<'getQueue'>, screen: Screen): string[] {
  const { now } = screen;
  const oldest = queue.oldest_due_at && age(queue.oldest_due_at, now);
  return [
    ...record({ ...cellsOf(queue, queueColumns, now), oldest }),
    ...queue.pauses.map((pause) => `pause: ${printable(pauseText(pause, now))}`),
    '',
    ...table(top, partColumns(top), screen),
    ...(history ? ['', ...table(history, fieldColumns(history), screen)] : []),
  ];
}

function deadLines({ bytes, text, headers, ...dead }: Body<'getDeadEvent'>): string[] {
  const named = Object.entries(headers).map(([name, value]) => printable(`header ${name}: ${value}`));
  const content = Buffer.from(bytes, 'base64');
  const beyond = content.length > dumpedBytes ? [`the first ${dumpedBytes} of ${content.length} bytes`] : [];
  const shown =
    text === null
      ? [...hexDump(content.subarray(0, dumpedBytes)), ...beyond]
      : text.split(/\r?\n/).map((line) => printable(line.replaceAll('\t', '    ')));
  return [...record(dead), ...(named.length > 0 ? named : ['headers none']), '', ...shown];
}

/** Returns the lines of a hex dump as xxd prints it: offset, 16 bytes in pairs, and the ASCII characters. */
function hexDump(bytes: Buffer): string[] {
  return (bytes.toString('latin1').match(/.{1,16}/gs) ?? []).map((line, index) => {
    const pairs = Buffer.from(line, 'latin1')
      .toString('hex')
      .match(/.{1,4}/g)!;
    const offset = (index * 16).toString(16).padStart(8, '0');
    return `${offset}: ${pairs.join(' ').padEnd(39)}  ${line.replaceAll(/[^ -~]/g, '.')}`;
  });
}
