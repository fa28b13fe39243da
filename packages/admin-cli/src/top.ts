import { emitKeypressEvents, type Key } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { adminOperations, type Queue } from '@customer-platform/contracts/accounts';
import { needsAttention } from '@customer-platform/contracts/operators';
import { type Body, endpointFindings, queueFindings, serviceFindings } from './check.ts';
import { queueColumns } from './columns.ts';
import { ask, type ControlPlane, type Refusal } from './control-plane-client.ts';
import { table } from './table.ts';
import { cut, jsonLine, printable } from './text.ts';

/** Streams that the live view is drawn on and hears its keys from: those of a process, which may be no terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number };
}

/** What the live view shows: three responses, the latest that there were, and why the latest look has others not. */
interface View {
  queues?: Body<'listQueues'>;
  /** Endpoints that fail. */
  endpoints?: Body<'listEndpoints'>;
  services?: Body<'listServices'>;
  /** Those of the latest look, as they came. */
  raw: Record<string, unknown>;
  now: Date | undefined;
  errors: (Refusal & { operation: string })[];
}

const periodMs = 1_000;
/** Deadline of each request. */
const timeoutMs = 5_000;
/** The largest page of endpoints. */
const maxEndpoints = 100;
/** Size of a terminal that does not say its own. */
const usual = { columns: 80, rows: 24 };

/** The alternate screen without cursor and without wrapping, and back. */
const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const leaveScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Looks again; where a response is missing the one before it stays in the view. */
async function look(plane: ControlPlane, before: View | undefined, ended: AbortSignal): Promise<View> {
  const raw: View['raw'] = { queues: null, endpoints: null, services: null };
  const view: View = { now: undefined, ...before, raw, errors: [] };
  const { listQueues, listEndpoints, listServices } = adminOperations;
  const parts = [
    ['queues', listQueues, {}],
    ['endpoints', listEndpoints, { failing: true, limit: maxEndpoints }],
    ['services', listServices, {}],
  ] as const;
  await Promise.all(
    parts.map(async ([name, operation, fields]) => {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
      const outcome = await ask(plane, operation as typeof listQueues, fields, signal);
      if ('refusal' in outcome) return void view.errors.push({ operation: operation.key, ...outcome.refusal });
      Object.assign(view, { [name]: outcome.body, now: outcome.now });
      raw[name] = outcome.raw;
    }),
  );
  return view;
}

/** Returns the lines of the live view: never more than there are rows, none longer than the terminal is wide. */
export function drawTop(url: string, view: View | undefined, { columns, rows }: typeof usual): string[] {
  if (!view) return [cut(`${printable(url)}  waiting for the first response`, columns)];
  const { queues, endpoints, services, now, errors } = view;
  const time = now ? `${now.toISOString().slice(11, 19)} UTC` : 'no response';
  const count = services ? `${services.data.length} ${services.data.length === 1 ? 'process' : 'processes'}` : '';
  const head = [printable(url), time, count, 'q ends'].filter(Boolean).join('  ');
  // Of a service that is gone, and of a bus, one line says enough.
  const said = new Set<string>(services?.gone);
  const unsaid = <Part extends { gone: readonly string[] }>(part: Part) => ({
    ...part,
    gone: said.has('gateway') ? [] : part.gone.filter((name) => !said.has(name)),
  });
  const findings = [
    ...(services ? serviceFindings(services) : []),
    ...(queues ? queueFindings({ ...unsaid(queues), data: worst(queues.data) }) : []),
    ...(endpoints ? endpointFindings(unsaid(endpoints), now) : []),
  ];
  const lines = [...errors.map(({ code, message }) => `! ${code}: ${message}`), ...findings.map(({ text }) => text)];
  const all = [...new Set(lines.map(printable))];
  const room = Math.max(1, Math.floor((rows - 3) / 2));
  const shown =
    all.length > room
      ? [...all.slice(0, room - 1), `and ${endpoints?.has_more ? 'at least ' : ''}${all.length - room + 1} more`]
      : all;
  const attention = all.length === 0 ? ['nothing needs attention'] : shown;
  const deepest = (queues?.data ?? []).toSorted((one, other) => depthOf(other) - depthOf(one));
  const left = Math.max(0, rows - attention.length - 3);
  const rowsOfQueues =
    left > 0 && deepest.length > 0 ? table(deepest.slice(0, left), queueColumns(now, 'cut'), columns).lines : [];
  return [head, ...attention, '', ...rowsOfQueues].slice(0, rows).map((line) => cut(line, columns));
}

function worst(queues: readonly Queue[]): Queue[] {
  const order = (one: Queue, other: Queue) => other.lag_seconds - one.lag_seconds || other.dead - one.dead;
  return queues.filter(needsAttention).toSorted(order);
}

function depthOf({ ready, running, waiting }: Queue): number {
  return ready + running + waiting;
}

/** Draws the live view every second until q, Ctrl-C or a signal ends it. Restores the terminal whatever happens. */
export async function showTop(plane: ControlPlane, { input, output }: Terminal): Promise<void> {
  const ended = new AbortController();
  let view: View | undefined;
  const draw = () => {
    if (ended.signal.aborted) return;
    const lines = drawTop(plane.url, view, sizeOf(output));
    // Each line is cleared to its end instead of the screen at once, which would flicker.
    output.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`);
  };
  const keys = (_text: string | undefined, key: Key) => {
    if (key.name === 'q' || (key.ctrl && key.name === 'c')) ended.abort();
  };
  const restore = () => {
    input.setRawMode?.(false);
    output.write(leaveScreen);
  };
  process.once('exit', restore);
  const release = endOn(ended, [input, output]);
  emitKeypressEvents(input);
  input.on('keypress', keys);
  output.on('resize', draw);
  try {
    input.setRawMode?.(true);
    input.resume();
    output.write(enterScreen);
    draw();
    await everySecond(plane, ended.signal, (next) => {
      view = next;
      draw();
    });
  } finally {
    input.off('keypress', keys);
    output.off('resize', draw);
    input.pause();
    restore();
    process.off('exit', restore);
    release();
  }
}

/** Prints the same as one line of JSON a second until a signal, or the end of whatever reads it, ends it. */
export async function printTop(plane: ControlPlane, output: Writable): Promise<void> {
  const ended = new AbortController();
  const release = endOn(ended, [output]);
  try {
    await everySecond(plane, ended.signal, ({ now, raw, errors }) => {
      // What a slow reader has not read yet must not pile up: it gets fewer lines.
      if (output.writableNeedDrain) return;
      const at = Object.values(raw).some(Boolean) ? (now?.toISOString() ?? null) : null;
      output.write(`${jsonLine({ at, ...raw, errors })}\n`);
    });
  } finally {
    release();
  }
}

function sizeOf({ columns, rows }: Terminal['output']) {
  return { columns: columns || usual.columns, rows: rows || usual.rows };
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Aborts on a signal, or when a stream ends or fails. Returns what removes the listeners. */
function endOn(ended: AbortController, streams: (Readable | Writable)[]): () => void {
  const end = () => ended.abort();
  for (const signal of endings) process.on(signal, end);
  for (const stream of streams) {
    stream.on('end', end).on('close', end);
    // Stays: the last write to a reader that has left fails after the end, and would be an uncaught error.
    stream.on('error', end);
  }
  return () => {
    for (const signal of endings) process.off(signal, end);
    for (const stream of streams) stream.off('end', end).off('close', end);
  };
}

/** Looks and shows once a second, or as soon as all has come that takes longer. */
async function everySecond(plane: ControlPlane, signal: AbortSignal, show: (view: View) => void): Promise<void> {
  let view: View | undefined;
  while (!signal.aborted) {
    const next = after(periodMs, undefined, { signal }).catch(() => undefined);
    view = await look(plane, view, signal);
    if (!signal.aborted) show(view);
    await next;
  }
}
