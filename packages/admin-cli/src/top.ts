import { emitKeypressEvents, type Key } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import type { ControlPlane } from './control-plane-client.ts';
import { Overview } from './overview.ts';
import { jsonLine } from './text.ts';
import { drawTop } from './top-screen.ts';

/** Streams that the live view is drawn on and hears its keys from: those of a process, which may be no terminal. */
export interface Terminal {
  input: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  output: Writable & { isTTY?: boolean; columns?: number; rows?: number };
}

const periodMs = 1_000;
/** Size of a terminal that does not say its own. */
const usual = { columns: 80, rows: 24 };

/** The alternate screen without cursor and without wrapping, and back. */
const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const leaveScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Draws the live view every second until q, Ctrl-C or a signal ends it. Restores the terminal whatever happens. */
export async function showTop(plane: ControlPlane, { input, output }: Terminal): Promise<void> {
  const ended = new AbortController();
  const overview = new Overview(plane, ended.signal);
  const draw = () => {
    if (ended.signal.aborted) return;
    const lines = drawTop(overview.state(), sizeOf(output));
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
    await everySecond(overview, draw, ended.signal);
  } finally {
    input.off('keypress', keys);
    output.off('resize', draw);
    input.pause();
    restore();
    process.off('exit', restore);
    release();
  }
}

/** Prints the overview as one line of JSON a second until a signal, or the end of whatever reads it, ends it. */
export async function printTop(plane: ControlPlane, output: Writable): Promise<void> {
  const ended = new AbortController();
  const release = endOn(ended, [output]);
  const overview = new Overview(plane, ended.signal);
  const print = () => {
    // What a slow reader has not read yet must not pile up: it gets fewer lines.
    if (!output.writableNeedDrain) output.write(`${jsonLine(overview.line())}\n`);
  };
  try {
    await everySecond(overview, print, ended.signal);
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

/** Refreshes and shows every second; shows as soon as everything has arrived, and after a second at the latest. */
async function everySecond(overview: Overview, show: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const next = after(periodMs, undefined, { signal }).catch(() => undefined);
    await Promise.race([overview.refresh(), next]);
    if (!signal.aborted) show();
    await next;
  }
}
