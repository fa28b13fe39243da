/** Characters that a terminal interprets or does not show. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Returns a string on one line with control characters escaped, so that foreign content cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\r') return '\\r';
    if (character === '\t') return '\\t';
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}

/**
 * Returns JSON on one line, for programs. It escapes the characters that a terminal interprets too: JSON.stringify leaves some as they are,
 * such as U+009B, which acts like ESC [.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unprintable, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns indented JSON that is safe to print. Only its own line breaks stay unescaped. */
export function prettyJson(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? '').split('\n').map(printable).join('\n');
}

/** Returns rows as lines with aligned columns. */
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

/** Returns a string cut to at most `length` UTF-16 units. A cut string ends in `…`. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Returns the milliseconds of a duration such as `2d`, `90m` or `1h30m`; undefined for any other string. */
export function durationMs(text: string): number | undefined {
  if (!/^(?:\d{1,9}[smhdw])+$/.test(text)) return undefined;
  const numbers = text
    .split(/[smhdw]/)
    .slice(0, -1)
    .map(Number);
  const units = text.split(/\d+/).slice(1) as (keyof typeof unitSeconds)[];
  return numbers.reduce((sum, number, index) => sum + number * unitSeconds[units[index]!] * 1000, 0);
}
