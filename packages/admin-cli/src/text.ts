import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

const wide =
  /[\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Characters that a terminal interprets or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns a string on one line with control characters escaped, so that customers' content cannot control the terminal. */
export function printable(text: string): string {
  const unicode = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(unprintable, (character) => escapes[character] ?? character.split('').map(unicode).join(''));
}

/** Returns JSON on one line with the same escapes. JSON.stringify leaves some characters as they are, such as U+009B, which acts like ESC [. */
export function jsonLine(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** Returns a string's JSON value; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the width of a printable string in terminal columns. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (wide.test(character)) width += 2;
    else if (!/\p{M}/u.test(character)) width += 1;
  }
  return width;
}

/** Returns a string cut to at most `width` columns. A cut string ends in `…`. */
export function cut(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${beginningOf(text, width - 1)}…`;
}

function beginningOf(text: string, width: number): string {
  let kept = '';
  for (const character of text) {
    if (widthOf(kept + character) > width) break;
    kept += character;
  }
  return kept;
}

/** Wraps a printable string to lines of at most `width` columns, each after `indent`. Breaks a word that is longer than a line. */
export function wrap(text: string, width: number, indent = ''): string[] {
  const room = Math.max(2, width - indent.length);
  const lines = [''];
  for (const word of text.split(/(?<= )/)) {
    if (widthOf(lines.at(-1) + word.trimEnd()) > room && lines.at(-1) !== '') lines.push('');
    let rest = word;
    while (widthOf(rest.trimEnd()) > room) {
      const part = beginningOf(rest, room);
      lines.splice(-1, 1, part, '');
      rest = rest.slice(part.length);
    }
    lines.push(`${lines.pop()}${rest}`);
  }
  return lines.map((line) => indent + line.trimEnd());
}

/** Colors a string if the terminal supports colors and NO_COLOR is not set. Without a terminal, returns it unchanged. */
export function paint(format: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string, stream?: Writable): string {
  return stream ? styleText(format, text, { stream }) : text;
}

/** Returns a duration in its largest unit: `42s`, `3m`, `26h`, `5d`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 3600) return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

/** Returns a timestamp's age, or `in 3m` for a time in the future. */
export function age(timestamp: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(timestamp)) / 1000;
  // `now` comes from a Date header with whole seconds, so a time less than 1 s ahead may be in the past.
  return seconds <= -1 ? `in ${duration(-seconds)}` : duration(seconds);
}

/** Returns a timestamp in UTC with minutes: `2026-11-20 08:00Z`. */
export function minute(timestamp: string): string {
  return `${new Date(timestamp).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** Returns whether a value is a timestamp in the format of the contracts, with any offset. */
export function isTimestamp(value: unknown): value is string {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
  return typeof value === 'string' && form.test(value) && !Number.isNaN(Date.parse(value));
}

/** Returns milliseconds with about three digits: `0.42`, `35.2`, `1,204`. */
export function milliseconds(value: number): string {
  if (value >= 99.95) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 9.995 ? 1 : 2);
}
