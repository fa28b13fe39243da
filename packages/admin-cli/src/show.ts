import { adminOperations, type Queue } from '@customer-platform/contracts/accounts';
import { goneText, isBusGone } from '@customer-platform/contracts/operators';
import type { z } from 'zod';
import {
  auditColumns,
  deadColumns,
  depthColumns,
  endpointColumns,
  partColumns,
  pauseText,
  processColumns,
  queueColumns,
  traceColumns,
} from './columns.ts';
import { type Column, table } from './table.ts';
import { age, minute, printable, printableLines } from './text.ts';
import { waterfall } from './waterfall.ts';

/** Width in columns of the terminal, and the control plane's time if its response said it. */
export interface Screen {
  columns: number;
  now: Date | undefined;
}

/** Bytes of a dead event that a hex dump shows, and of one line of it. */
const dumpedBytes = 512;
const bytesPerLine = 16;
/** Least room for a cell of a list that has no columns of its own. */
const leastCell = 8;

const views = new Map([
  viewOf(adminOperations.listQueues, ({ data, gone }, screen) => [
    ...listOf(data, queueColumns(screen.now), screen, { gone, what: 'queues' }),
  ]),
  viewOf(adminOperations.getQueue, ({ top, history, ...queue }, screen) => [
    ...queueFields(queue, screen.now),
    ...queue.pauses.map((pause) => `pause: ${printable(pauseText(pause, screen.now))}`),
    '',
    ...list(top, partColumns(top, screen.now), screen),
    ...(history ? ['', ...list(history, depthColumns(), screen)] : []),
  ]),
  viewOf(adminOperations.listDeadEvents, ({ data, gone, next }, screen) => [
    ...listOf(data, deadColumns(screen.now), screen, { gone, what: 'dead events' }),
    ...moreLines(next),
  ]),
  viewOf(adminOperations.getDeadEvent, deadLines),
  viewOf(adminOperations.listEndpoints, ({ data, gone, next }, screen) => [
    ...listOf(data, endpointColumns(screen.now), screen, { gone, what: 'endpoints' }),
    ...moreLines(next),
  ]),
  viewOf(adminOperations.listServices, ({ data, gone }, screen) => [
    ...listOf(data, processColumns(screen.now), screen, { gone, what: 'processes' }),
  ]),
  pageView(adminOperations.listAudit, ({ now }) => auditColumns(now)),
  pageView(adminOperations.listTraces, ({ now }) => traceColumns(now)),
  viewOf(adminOperations.retryQueue, ({ matched }) => [`${matched} ${matched === 1 ? 'is' : 'are'} tried now`]),
  viewOf(adminOperations.requeueDeadEvents, ({ matched }) => [`${matched} ${matched === 1 ? 'is' : 'are'} requeued`]),
  viewOf(adminOperations.republishEvents, ({ matched }) => [
    `${matched} ${matched === 1 ? 'is' : 'are'} published again`,
  ]),
  viewOf(adminOperations.getTrace, (trace, { columns }) => waterfall(trace, columns)),
]);

/**
 * Formats a response body for people: as its operation has it, else a table for a list and a line a field for anything
 * else. A body that a newer control plane has extended beyond this contract is still shown, the second way.
 */
export function show(operation: string, body: unknown, screen: Screen): string {
  if (body === undefined) return 'done';
  return (views.get(operation)?.(body, screen) ?? anyLines(body, screen)).join('\n');
}

type View = (body: unknown, screen: Screen) => string[] | undefined;

function viewOf<Schema extends z.ZodType>(
  { key, response }: { key: string; response: Schema },
  draw: (body: z.output<Schema>, screen: Screen) => string[],
): [string, View] {
  return [
    key,
    (body, screen) => {
      const parsed = response.safeParse(body);
      return parsed.success ? draw(parsed.data, screen) : undefined;
    },
  ];
}

function pageView<Row>(
  operation: { key: string; response: z.ZodType<{ data: Row[]; next: string | null }> },
  columns: (screen: Screen) => Column<Row>[],
): [string, View] {
  return viewOf(operation, ({ data, next }, screen) => [...list(data, columns(screen), screen), ...moreLines(next)]);
}

function list<Row>(rows: Row[], columns: Column<Row>[], screen: Screen): string[] {
  if (rows.length === 0) return ['none'];
  const { lines, left } = table(rows, columns, screen.columns);
  return left.length === 0 ? lines : [...lines, `no room for: ${left.join(', ')} (--json has all)`];
}

function moreLines(next: string | null | undefined): string[] {
  return next ? [`more: --starting-after ${printable(next)}`] : [];
}

/** A list under what it lacks: none of those who respond is not none. */
function listOf<Row>(rows: Row[], columns: Column<Row>[], screen: Screen, lacks: Lacks): string[] {
  const lines = goneLines(lacks);
  if (rows.length > 0 || lines.length === 0) return [...lines, ...list(rows, columns, screen)];
  return isBusGone(lacks.gone) ? lines : [...lines, 'none of those who respond'];
}

/** A queue in the words of the list, its error whole. */
function queueFields(queue: Omit<Queue, 'history'>, now: Date | undefined): string[] {
  const columns = queueColumns(now).map(({ title, of }): [string, string] => [title, of(queue)]);
  return fields({ ...Object.fromEntries(columns), oldest: age(queue.oldest_due_at, now) });
}

function deadLines({
  bytes,
  text,
  headers,
  ...dead
}: z.output<typeof adminOperations.getDeadEvent.response>): string[] {
  const named = Object.entries(headers).map(([name, value]) => printable(`header ${name}: ${value}`));
  const headerLines = named.length > 0 ? named : ['headers none'];
  const content = Buffer.from(bytes, 'base64');
  const beyond = content.length > dumpedBytes ? [`the first ${dumpedBytes} of ${content.length} bytes`] : [];
  const shown = text === null ? [...hexDump(content.subarray(0, dumpedBytes)), ...beyond] : printableLines(text);
  return [...fields(dead), ...headerLines, '', ...shown];
}

function anyLines(body: unknown, screen: Screen): string[] {
  const page = body as { data?: Record<string, unknown>[]; next?: string | null; gone?: string[] };
  if (!Array.isArray(page.data)) return fields(body as Record<string, unknown>);
  const names = Object.keys(page.data[0] ?? {});
  const columns = names.map((name, rank) => anyColumn(name, rank));
  return [...listOf(page.data, columns, screen, { gone: page.gone ?? [], what: 'entries' }), ...moreLines(page.next)];
}

/** Ids and times are whole. The first column stays; of the others the last go first. */
function anyColumn(name: string, rank: number): Column<Record<string, unknown>> {
  const isId = name === 'id' || name.endsWith('_id');
  const isTime = name === 'at' || name.endsWith('_at');
  return {
    title: name,
    of: (row) => {
      const value = row[name];
      if (isNested(value)) return '-';
      return isTime && typeof value === 'string' ? minute(value) : cell(value);
    },
    ...(isId || isTime ? {} : { min: leastCell }),
    rank,
  };
}

function fields(thing: Record<string, unknown>): string[] {
  const width = Math.max(0, ...Object.keys(thing).map((name) => name.length));
  return Object.entries(thing).map(([name, value]) => `${name.padEnd(width)}  ${printable(cell(value))}`);
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map((each) => cell(each)).join(',');
  return isNested(value) ? JSON.stringify(value) : String(value);
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Entries that a list lacks: those of the services that are gone. */
interface Lacks {
  gone: readonly string[];
  what: 'queues' | 'dead events' | 'endpoints' | 'processes' | 'entries';
}

/** Returns lines for above a list, which say what it lacks, none as long as a narrow terminal; none where no service is gone. */
function goneLines({ gone, what }: Lacks): string[] {
  const text = goneText(gone, what);
  return text ? [`${text.who}:`, `${text.so}. See docs/runbooks/${text.runbook}.md`] : [];
}

/** Returns the lines of a hex dump as xxd prints it: offset, sixteen bytes in pairs, and what of them is ASCII. */
function hexDump(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += bytesPerLine) {
    const line = bytes.subarray(offset, offset + bytesPerLine);
    const pairs = line.toString('hex').match(/.{1,4}/g) ?? [];
    const characters = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'));
    const position = offset.toString(16).padStart(8, '0');
    lines.push(`${position}: ${pairs.join(' ').padEnd(39)}  ${characters.join('')}`);
  }
  return lines;
}
