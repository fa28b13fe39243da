const wide =
  /[\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Characters that a terminal obeys or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns a text on one line, control characters as escapes: what customers and their servers send must not steer a terminal. */
export function printable(text: string): string {
  return text.replace(
    unprintable,
    (character) => escapes[character] ?? character.split('').map(unicodeEscape).join(''),
  );
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
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
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const character of text) {
    if (widthOf(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Returns a duration in its largest unit: `42s`, `3m`, `26h`, `5d`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  return whole < 172_800 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

/** Returns how long ago a timestamp was, or `in 3m` for one ahead. */
export function age(timestamp: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(timestamp)) / 1000;
  // The Date header, which `now` is from, has whole seconds: less than one ahead is not ahead.
  return seconds <= -1 ? `in ${duration(-seconds)}` : duration(seconds);
}

/** Returns a timestamp in UTC to the minute: `2026-11-20 08:00`. */
export function minute(timestamp: string): string {
  return new Date(timestamp).toISOString().slice(0, 16).replace('T', ' ');
}

/** Returns a number of milliseconds with three digits of it: `0.42`, `35.2`, `1,204`. */
export function milliseconds(value: number): string {
  if (value >= 99.95) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 9.995 ? 1 : 2);
}
