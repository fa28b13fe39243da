import { type Piece, PieceBuilder } from './pieces.ts';

const separators = [',', ';', '\t', '|'];

/** Splits a table by its rows; each becomes lines of `column: value`, with the column names of the first row. */
export function splitCsv(text: string): Piece[] {
  const table = text.replace(/^\ufeff/, '');
  const builder = new PieceBuilder();
  let columns: string[] | undefined;
  let rows = 0;
  for (const cells of csvRows(table, separatorOf(table))) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (!columns) {
      columns = cells.map((cell) => cell.trim());
      continue;
    }
    rows++;
    const lines: string[] = [];
    for (const [index, cell] of cells.entries()) {
      if (cell.trim() !== '') lines.push(`${columns[index] || `column ${index + 1}`}: ${cell.trim()}`);
    }
    builder.block(lines.join('\n'));
  }
  if (rows === 0) builder.block((columns ?? []).filter((name) => name !== '').join(', '));
  return builder.finish();
}

/** Returns the separator that occurs most often in the first line. */
function separatorOf(text: string): string {
  const end = text.search(/[\r\n]/);
  const line = text.slice(0, Math.min(end === -1 ? text.length : end, 10_000));
  const counts = separators.map((separator) => line.split(separator).length);
  return separators[counts.indexOf(Math.max(...counts))]!;
}

/** Yields rows as in RFC 4180. A quote that is never closed holds the rest of the text; text after a closed one belongs to its cell. */
function* csvRows(text: string, separator: string): Generator<string[]> {
  let cells: string[] = [];
  let at = 0;
  while (at < text.length) {
    let cell = '';
    if (text[at] === '"') {
      let from = at + 1;
      for (;;) {
        const quote = text.indexOf('"', from);
        cell += text.slice(from, quote === -1 ? text.length : quote);
        at = quote === -1 ? text.length : quote + 1;
        if (text[at] !== '"' || quote === -1) break;
        cell += '"';
        from = at + 1;
      }
    }
    const begin = at;
    while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at++;
    cells.push(cell + text.slice(begin, at));
    if (text[at] === separator && at + 1 < text.length) {
      at++;
      continue;
    }
    at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
    yield cells;
    cells = [];
  }
}
