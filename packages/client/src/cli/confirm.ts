import { createInterface } from 'node:readline/promises';
import type { CommandCall } from './command.ts';

/** Asks a yes-or-no question in a terminal. Anything but yes, and Ctrl-D, count as no. Throws an aborted signal's reason. */
export async function confirm({ input, note, signal }: CommandCall, question: string): Promise<boolean> {
  note(`${question} [y/N]`);
  const lines = createInterface({ input });
  const ended = new AbortController();
  signal.addEventListener('abort', () => ended.abort(), { once: true });
  // Ctrl-D.
  lines.once('close', () => ended.abort());
  try {
    return /^\s*y(?:es)?\s*$/i.test(await lines.question('', { signal: ended.signal }));
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    lines.close();
  }
}
