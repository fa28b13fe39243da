/** Characters that a terminal obeys or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Returns a text on one line, control characters as escapes: what others send must not steer a terminal. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\r') return '\\r';
    if (character === '\t') return '\\t';
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}

/**
 * Returns JSON on one line, as programs read it. Characters that a terminal obeys are escapes there too: JSON leaves some as they are, among
 * them those that do what ESC [ does.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unprintable, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns JSON with indents, printable in a terminal: its line ends are its own. */
export function prettyJson(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? '').split('\n').map(printable).join('\n');
}

/** Returns rows as lines whose cells stand below each other, all but the last. */
export function columnsOf(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_cell, index) => Math.max(...cells.map((row) => row[index]!.length)));
  return cells.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns a text of at most so many UTF-16 units, with `…` for what was cut. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Returns the milliseconds of a duration such as `2d`, `90m` or `1h30m`; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  if (!/^(?:\d{1,9}[smhdw])+$/.test(text)) return undefined;
  const numbers = text
    .split(/[smhdw]/)
    .slice(0, -1)
    .map(Number);
  const units = text.split(/\d+/).slice(1) as (keyof typeof unitSeconds)[];
  return numbers.reduce((sum, number, index) => sum + number * unitSeconds[units[index]!] * 1000, 0);
}
