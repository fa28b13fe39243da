const wide =
  /[\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ascii = /^[\u{20}-\u{7e}]*$/u;
/** Characters that a terminal obeys or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Returns a text on one line, control characters as escapes: what customers and their servers send must not steer a terminal. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\r') return '\\r';
    if (character === '\t') return '\\t';
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}

/** Returns JSON on one line, the same characters as escapes: JSON leaves some as they are, among them those that do what ESC [ does. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unprintable, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns the lines of a text, each as `printable`, tabs as four spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => printable(line.replaceAll('\t', '    ')));
}

/** Returns how many columns of a terminal a printable text takes. */
export function widthOf(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

function columnsOf(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Returns a text of at most `width` columns; `…` is the last of one that was longer. */
export function cut(text: string, width: number): string {
  if (text.length <= width && ascii.test(text)) return text;
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return width <= 0 ? '' : `${kept}…`;
}

/** Returns a text filled up with spaces to `width` columns. */
export function pad(text: string, width: number, side: 'left' | 'right' = 'right'): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return side === 'left' ? spaces + text : text + spaces;
}

/** Returns a duration in its largest unit: `42s`, `3m`, `26h`, `5d`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

/** Returns how long ago a timestamp was, or `in 3m` for one ahead; without a `now` the timestamp in UTC, and `-` for none. */
export function age(timestamp: string | undefined, now: Date | undefined): string {
  if (timestamp === undefined) return '-';
  const seconds = now === undefined ? Number.NaN : (now.getTime() - Date.parse(timestamp)) / 1000;
  if (Number.isNaN(seconds)) return minute(timestamp);
  // The Date header has whole seconds: what is less than one ahead is not ahead.
  return seconds <= -1 ? `in ${duration(-seconds)}` : duration(seconds);
}

/** Returns a timestamp in UTC to the minute: `2026-11-20 08:00`; one that is none as it is. */
export function minute(timestamp: string): string {
  const instant = Date.parse(timestamp);
  return Number.isNaN(instant) ? timestamp : new Date(instant).toISOString().slice(0, 16).replace('T', ' ');
}

/** Returns a number of milliseconds with three digits of it: `0.42`, `35.2`, `1,204`. */
export function milliseconds(value: number): string {
  if (value >= 99.95) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 9.995 ? 1 : 2);
}
