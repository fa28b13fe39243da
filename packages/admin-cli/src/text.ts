import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

const wide =
  /[\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Characters that a terminal obeys or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns a text on one line, control characters as escapes: what customers and their servers send must not steer a terminal. */
export function printable(text: string): string {
  const unicode = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(unprintable, (character) => escapes[character] ?? character.split('').map(unicode).join(''));
}

/** Returns JSON on one line, the same characters as escapes: JSON leaves some as they are, among them those that do what ESC [ does. */
export function jsonLine(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** Returns the value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns how many columns of a terminal a printable text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (wide.test(character)) width += 2;
    else if (!/\p{M}/u.test(character)) width += 1;
  }
  return width;
}

/** Returns a text of at most `width` columns; `…` is the last of one that was longer. */
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

/** Returns a printable text as lines of at most `width` columns, each after `indent`; a word that has no room on a line is broken. */
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

/** Colours a text for a terminal that has colours and whose user has not set NO_COLOR; without a terminal it stays as it is. */
export function paint(format: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string, stream?: Writable): string {
  return stream ? styleText(format, text, { stream }) : text;
}

/** Returns a duration in its largest unit: `42s`, `3m`, `26h`, `5d`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 3600) return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

/** Returns how long ago a timestamp was, or `in 3m` for one ahead. */
export function age(timestamp: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(timestamp)) / 1000;
  // The Date header, which `now` is from, has whole seconds: less than one ahead is not ahead.
  return seconds <= -1 ? `in ${duration(-seconds)}` : duration(seconds);
}

/** Returns a timestamp in UTC to the minute: `2026-11-20 08:00Z`. */
export function minute(timestamp: string): string {
  return `${new Date(timestamp).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** Returns whether a value is a timestamp as the contracts have them, whatever its offset. */
export function isTimestamp(value: unknown): value is string {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
  return typeof value === 'string' && form.test(value) && !Number.isNaN(Date.parse(value));
}

/** Returns a number of milliseconds with three digits of it: `0.42`, `35.2`, `1,204`. */
export function milliseconds(value: number): string {
  if (value >= 99.95) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 9.995 ? 1 : 2);
}
