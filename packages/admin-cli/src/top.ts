import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { adminOperations, type Queue } from '@customer-platform/contracts/accounts';
import { needsAttention } from '@customer-platform/contracts/operators';
import { queueColumns } from './columns.ts';
import { type Answer, type Body, type ControlPlane, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { findingsOf, goneFindings } from './findings.ts';
import { table } from './table.ts';
import { cut, jsonLine, paint, printable, wrap } from './text.ts';

/** Streams that the live view is drawn on and hears its keys from: those of a process, which may be no terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number };
}

/** Responses by operation. */
type Answers = { [Key in keyof typeof requests]?: Answer<Body<Key>> };
/** The responses of one look, and why there are no others. */
type Look = { answers: Answers; errors: (Refusal & { operation: string })[] };

const periodMs = 1_000;
/** Deadline of each request. */
const timeoutMs = 5_000;
/** Looks that one response about what customers meet serves: services look for it over all accounts. */
const customersEvery = 10;
const requests = { listQueues: {}, listEndpoints: { failing: true, limit: 100 }, listServices: {}, listAttention: {} };

/** The alternate screen without cursor and without wrapping, and back. */
const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const leaveScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Draws the live view every second, or prints it as a line of JSON, until q, Ctrl-C, a signal or the end of its reader ends it. */
export async function runTop(plane: ControlPlane, { input, output }: Terminal, isJson: boolean): Promise<void> {
  const ended = new AbortController();
  const end = () => ended.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
  output.on('error', end);
  if (isJson) return await everySecond(plane, ended.signal, (look) => output.write(lineOf(look)));
  try {
    input.setRawMode?.(true);
    input.on('data', (keys: Buffer) => {
      if (keys.includes('q') || keys.includes('\u0003')) end();
    });
    output.write(enterScreen + frameOf([`${printable(plane.url)}  waiting for the first response`]));
    let answers: Answers = {};
    await everySecond(plane, ended.signal, (look) => {
      // A response that is missing leaves the one before it in the view.
      answers = { ...answers, ...look.answers };
      output.write(frameOf(draw(plane.url, { ...look, answers }, output)));
    });
  } finally {
    input.setRawMode?.(false);
    input.pause();
    output.write(leaveScreen);
  }
}

/** Looks and shows once a second, or when the slowest response has come where that takes longer. */
async function everySecond(plane: ControlPlane, ended: AbortSignal, show: (look: Look) => void): Promise<void> {
  let customers: Pick<Answers, 'listAttention'> = {};
  for (let count = 0; !ended.aborted; count++) {
    const next = after(periodMs, undefined, { signal: ended }).catch(() => undefined);
    const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
    if (count % customersEvery === 0) customers = {};
    const look: Look = { answers: { ...customers }, errors: [] };
    const missing = Object.entries(requests).filter(([name]) => !(name in look.answers));
    const asked = missing.map(async ([operation, fields]) => {
      await send(plane, adminOperations[operation as keyof Answers], fields, signal).then(
        (answer) => Object.assign(look.answers, { [operation]: answer }),
        (error) => look.errors.push({ operation, ...refusalOf(error) }),
      );
    });
    await Promise.all(asked);
    const { listAttention } = look.answers;
    customers = listAttention ? { listAttention } : {};
    if (!ended.aborted) show(look);
    await next;
  }
}

/** The latest of the responses' times. */
const timeOf = (answers: Answers) =>
  Object.values(answers)
    .map(({ now }) => now)
    .toSorted((one, other) => other.getTime() - one.getTime())[0];

function lineOf({ answers, errors }: Look): string {
  const at = timeOf(answers)?.toISOString() ?? null;
  const [queues, endpoints, services, attention] = Object.keys(requests).map(
    (key) => answers[key as keyof Answers]?.body ?? null,
  );
  return `${jsonLine({ at, queues, endpoints, services, attention, errors })}\n`;
}

/** Each line is cleared to its end instead of the screen at once, which would flicker. */
function frameOf(lines: string[]): string {
  return `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`;
}

/**
 * Returns the lines of the live view: never more than there are rows, none longer than the terminal is wide. What needs attention is whole where it
 * fits into half of the rows; queues with nothing in them are a number.
 */
function draw(url: string, { answers, errors }: Look, output: Terminal['output']): string[] {
  const { columns = 80, rows = 24 } = output;
  const now = timeOf(answers);
  const refusals = errors.map(({ code, message }) => `! ${code}: ${message}`);
  const texts = [...refusals, ...(now ? findings(answers, now) : [])];
  const attention = texts.map((text, index) =>
    wrap(printable(text), columns).map((line) => paint(index < refusals.length ? 'red' : 'yellow', line, output)),
  );
  const room = Math.max(1, Math.floor(rows / 2) - 2);
  const fits = attention.filter((_lines, index) => index === 0 || attention.slice(0, index + 1).flat().length <= room);
  const left = attention.length - fits.length;
  const depthOf = ({ ready, running, waiting }: Queue) => ready + running + waiting;
  const queues = answers.listQueues?.body.data ?? [];
  const deepest = queues
    .filter((queue) => depthOf(queue) > 0 || needsAttention(queue))
    .toSorted((one, other) => depthOf(other) - depthOf(one));
  const { error, ...titles } = queueColumns;
  const lines = [
    cut(printable(`${url}  ${now ? `${now.toISOString().slice(11, 19)} UTC` : 'no response'}  q ends`), columns),
    ...(attention.length > 0 ? fits.flat().slice(0, room) : [paint('green', 'nothing needs attention', output)]),
    ...(left > 0 ? [`and ${left} more`] : []),
    queues.length > deepest.length ? paint('dim', `${queues.length - deepest.length} queues are empty`, output) : '',
    ...(now && deepest.length > 0 ? table(deepest, titles, { columns, now }).map((line) => cut(line, columns)) : []),
  ];
  return lines.slice(0, rows);
}

/** What needs attention, in the words of `check`, customers as counts. Services that are gone are named once: each list lacks the same. */
function findings({ listServices, listQueues, listEndpoints, listAttention }: Answers, now: Date): string[] {
  const gone = listServices?.body.gone ?? listQueues?.body.gone ?? listEndpoints?.body.gone ?? [];
  const worst = (listQueues?.body.data ?? [])
    .filter(needsAttention)
    .toSorted((one, other) => other.lag_seconds - one.lag_seconds || other.dead - one.dead);
  const { gone: _, ...customers } = listAttention?.body ?? {};
  const counts = Object.entries(customers).flatMap(([name, { length }]) => (length > 0 ? `${name} ${length}` : []));
  const found = [
    ...goneFindings(gone, listServices ? 'processes' : 'queues'),
    ...findingsOf.listServices(listServices?.body.data ?? []),
    ...findingsOf.listQueues(worst),
    ...findingsOf.listEndpoints(listEndpoints?.body.data ?? [], now),
  ];
  return [
    ...found.map(({ text }) => text),
    ...(counts.length > 0 ? [`customers (attention): ${counts.join(', ')}`] : []),
  ];
}
