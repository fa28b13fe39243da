import type { CommandCall } from './command.ts';

/** Shows the progress of a long command: a bar in a terminal, otherwise a line every few seconds. */
export interface Progress {
  show(done: number, detail?: string): void;
  /** Removes the bar, so that later output replaces it. */
  end(): void;
}

const barLength = 24;
/** Milliseconds between two lines without a terminal. */
const lineEveryMs = 5_000;

/** Returns a progress display. `unit` is such as `rows`, `total` may be unknown, and an earlier run did the first `before`. */
export function progressOf(call: CommandCall, unit: string, total?: number, before = 0): Progress {
  const began = performance.now();
  let shownAt = began;
  return {
    show(done, detail = '') {
      const now = performance.now();
      const seconds = (now - began) / 1000;
      const rate = seconds > 0 ? `  ${counted((done - before) / seconds)} ${unit}/s` : '';
      const share = total ? done / total : undefined;
      const place = total === undefined ? counted(done) : `${counted(done)} of ${counted(total)}`;
      const line = `${percent(share)}${place} ${unit}${rate}${detail && `  ${detail}`}`;
      if (call.terminal) return call.terminal.draw(`${bar(share)}${line}`);
      if (now - shownAt < lineEveryMs) return;
      shownAt = now;
      call.note(line.trimStart());
    },
    end: () => call.terminal?.draw(''),
  };
}

/** Returns a rounded number with thousands separators: 12,345. */
export function counted(number: number): string {
  return Math.round(number).toLocaleString('en');
}

function bar(share: number | undefined): string {
  if (share === undefined) return '';
  const filled = Math.round(share * barLength);
  return `[${'#'.repeat(filled)}${'.'.repeat(barLength - filled)}] `;
}

function percent(share: number | undefined): string {
  return share === undefined ? '' : `${String(Math.floor(share * 100)).padStart(3)} %  `;
}
