import { goneText } from '@customer-platform/contracts/operators';
import { entryNames, type List, listColumns, partColumns, pauseText, queueColumns } from './columns.ts';
import type { Answer, Body, OperationKey } from './control-plane-client.ts';
import { type Columns, cellsOf, record, type Screen, table } from './table.ts';
import { age, printable } from './text.ts';
import { waterfall } from './waterfall.ts';

/** Bytes of a dead event that a hex dump shows, and of one line of it. */
const dumpedBytes = 512;
const bytesPerLine = 16;

type Entry = Record<string, unknown>;

/** Responses that are neither lists nor shown as a line a field. */
const views: { [Key in OperationKey]?: (body: Body<Key>, screen: Screen) => string[] } = {
  getQueue: queueLines,
  getDeadEvent: deadLines,
  getTrace: waterfall,
  getEndpoint: sections,
  getAccountHealth: sections,
  listAttention: sections,
  retryQueue: ({ matched }) => [`${matched} due now`],
  requeueDeadEvents: ({ matched }) => [`${matched} requeued`],
  republishEvents: ({ matched }) => [`${matched} published again`],
  replayEndpoint: ({ matched }) => [`${matched} deliveries are sent again`],
  resendMessages: ({ matched }) => [`${matched} messages are sent again`],
};

/** Formats a response for people: as its operation has it, else a table for a list and a line a field for anything else. */
export function show(key: OperationKey, { body, now }: Answer<unknown>, columns: number): string {
  if (body === undefined) return 'done';
  const screen = { columns, now };
  const view = views[key] as ((body: unknown, screen: Screen) => string[]) | undefined;
  if (view) return view(body, screen).join('\n');
  const isList = Array.isArray((body as List<Entry>).data);
  return (isList ? listLines(key, body as List<Entry>, screen) : record(body as object)).join('\n');
}

/** A list under what it lacks, for none of those that respond is not none. */
function listLines(key: OperationKey, { data, next, gone = [] }: List<Entry>, screen: Screen): string[] {
  const columns = (listColumns[key] as Columns<Entry> | undefined) ?? fieldColumns(data);
  const text = goneText(gone, entryNames[key] ?? 'entries');
  return [
    ...(text ? [`${text.who}:`, `${text.so}. See docs/runbooks/${text.runbook}.md`] : []),
    ...table(data, columns, screen),
    ...(next ? [`more: --starting-after ${printable(next)}`] : []),
  ];
}

/** A column for each field but objects, and but the account, which the command names. */
function fieldColumns([first = {}]: readonly Entry[], hidden = 'account'): Columns<Entry> {
  const names = Object.keys(first).filter((name) => name !== hidden && !isRecord(first[name]));
  return Object.fromEntries(names.map((name) => [name, name]));
}

/** A line for each field, named by its path, and a table for each list below them; what is empty or 0 is left out. */
function sections(body: object, screen: Screen): string[] {
  const filled = leavesOf(body).filter(([, value]) => value !== 0 && value !== null && `${value}` !== '');
  const isTable = ([, value]: Leaf) => Array.isArray(value) && isRecord(value[0]);
  const { tables = [], fields } = Object.groupBy(filled, (leaf) => (isTable(leaf) ? 'tables' : 'fields'));
  const shown = tables.map(([name, rows]) => [`${name}:`, ...table(rows, fieldColumns(rows, ''), screen)]);
  const parts = fields ? [record(Object.fromEntries(fields)), ...shown] : shown;
  return parts.length === 0 ? ['none'] : parts.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

// biome-ignore lint/suspicious/noExplicitAny: a value of any response
type Leaf = [path: string, value: any];

const leavesOf = (thing: object, prefix = ''): Leaf[] =>
  Object.entries(thing).flatMap(([name, value]): Leaf[] =>
    isRecord(value) ? leavesOf(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]],
  );

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A queue in the words of the list, its pauses, its parts, and the last hour where it was asked for. */
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

/** Returns the lines of a hex dump as xxd prints it: offset, sixteen bytes in pairs, and what of them is ASCII. */
function hexDump(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += bytesPerLine) {
    const line = bytes.subarray(offset, offset + bytesPerLine);
    const pairs = line.toString('hex').match(/.{1,4}/g) ?? [];
    const characters = line.toString('latin1').replaceAll(/[^ -~]/g, '.');
    lines.push(`${offset.toString(16).padStart(8, '0')}: ${pairs.join(' ').padEnd(39)}  ${characters}`);
  }
  return lines;
}
