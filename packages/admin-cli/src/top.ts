import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { adminOperations, type Queue } from '@customer-platform/contracts/accounts';
import { needsAttention } from '@customer-platform/contracts/operators';
import { queueColumns } from './columns.ts';
import { type Answer, type Body, type ControlPlane, type Refusal, refusalOf, send } from './control-plane-client.ts';
import { findingsOf, goneFindings } from './findings.ts';
import { table } from './table.ts';
import { cut, jsonLine, paint, printable, wrap } from './text.ts';

/** The streams of the live view. The streams of a process may not be a terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number };
}

/** Responses by operation. */
type Answers = { [Key in keyof typeof requests]?: Answer<Body<Key>> };
/** The responses of one refresh, and the errors of the other requests. */
type Snapshot = { answers: Answers; errors: (Refusal & { operation: string })[] };

const periodMs = 1_000;
/** Deadline of each request. */
const timeoutMs = 5_000;
/** One listAttention response serves this many refreshes, since it makes the services search all accounts. */
const customersEvery = 10;
const requests = { listQueues: {}, listEndpoints: { failing: true, limit: 100 }, listServices: {}, listAttention: {} };

/** Switches to the alternate screen without cursor and wrapping, and back. */
const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const leaveScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Draws the live view every second, or prints it as JSON lines. Ends at q, Ctrl-C, a signal or a closed output. */
export async function runTop(plane: ControlPlane, { input, output }: Terminal, isJson: boolean): Promise<void> {
  const ended = new AbortController();
  const end = () => ended.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
  output.on('error', end);
  if (isJson) return await everySecond(plane, ended.signal, (snapshot) => output.write(lineOf(snapshot)));
  try {
    input.setRawMode?.(true);
    input.on('data', (keys: Buffer) => {
      if (keys.includes('q') || keys.includes('\u0003')) end();
    });
    output.write(enterScreen + frameOf([`${printable(plane.url)}  waiting for the first response`]));
    let answers: Answers = {};
    await everySecond(plane, ended.signal, (snapshot) => {
      // If a response is missing, the view keeps the previous one.
      answers = { ...answers, ...snapshot.answers };
      output.write(frameOf(draw(plane.url, { ...snapshot, answers }, output)));
    });
  } finally {
    input.setRawMode?.(false);
    input.pause();
    output.write(leaveScreen);
  }
}

/** Refreshes once a second, or when the slowest response has arrived if that takes longer. */
async function everySecond(plane: ControlPlane, ended: AbortSignal, show: (snapshot: Snapshot) => void): Promise<void> {
  let customers: Pick<Answers, 'listAttention'> = {};
  for (let count = 0; !ended.aborted; count++) {
    const next = after(periodMs, undefined, { signal: ended }).catch(() => undefined);
    const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
    if (count % customersEvery === 0) customers = {};
    const snapshot: Snapshot = { answers: { ...customers }, errors: [] };
    const missing = Object.entries(requests).filter(([name]) => !(name in snapshot.answers));
    const asked = missing.map(async ([operation, fields]) => {
      await send(plane, adminOperations[operation as keyof Answers], fields, signal).then(
        (answer) => Object.assign(snapshot.answers, { [operation]: answer }),
        (error) => snapshot.errors.push({ operation, ...refusalOf(error) }),
      );
    });
    await Promise.all(asked);
    const { listAttention } = snapshot.answers;
    customers = listAttention ? { listAttention } : {};
    if (!ended.aborted) show(snapshot);
    await next;
  }
}

/** The latest of the responses' times. */
const timeOf = (answers: Answers) =>
  Object.values(answers)
    .map(({ now }) => now)
    .toSorted((one, other) => other.getTime() - one.getTime())[0];

function lineOf({ answers, errors }: Snapshot): string {
  const at = timeOf(answers)?.toISOString() ?? null;
  const [queues, endpoints, services, attention] = Object.keys(requests).map(
    (key) => answers[key as keyof Answers]?.body ?? null,
  );
  return `${jsonLine({ at, queues, endpoints, services, attention, errors })}\n`;
}

/** Clears each line to its end, since clearing the whole screen would flicker. */
function frameOf(lines: string[]): string {
  return `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`;
}

/**
 * Returns the lines of the live view, which fit the terminal's rows and columns. Problems use at most half of the rows, and are not cut if they
 * fit. Empty queues are only counted.
 */
function draw(url: string, { answers, errors }: Snapshot, output: Terminal['output']): string[] {
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
    cut(printable(`${url}  ${now ? `${now.toISOString().slice(11, 19)} UTC` : 'no response'}  q quits`), columns),
    ...(attention.length > 0 ? fits.flat().slice(0, room) : [paint('green', 'nothing needs attention', output)]),
    ...(left > 0 ? [`and ${left} more`] : []),
    queues.length > deepest.length ? paint('dim', `${queues.length - deepest.length} queues are empty`, output) : '',
    ...(now && deepest.length > 0 ? table(deepest, titles, { columns, now }).map((line) => cut(line, columns)) : []),
  ];
  return lines.slice(0, rows);
}

/** Returns the problems as `check` words them, and customers as counts. Gone services are named once, since all lists lack the same ones. */
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
