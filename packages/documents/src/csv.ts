import { isVisible, type Piece, PieceBuilder } from './pieces.ts';

/** Possible separators, the rarest in prose first. If two fit a table equally well, the first one wins. */
const separators = ['\t', ';', '|', ','];
/** First line that names the separator, such as `sep=;`, as Excel writes it. */
const separatorLine = /^"?sep=([^\r\n])"?(?:\r\n|\r|\n|$)/i;
/** Maximum UTF-16 units and rows examined to detect the separator. */
const [sampleLength, sampleRows] = [65_536, 50];

/** Splits a table by its rows. Each row becomes lines of `column: value`; the first row has the column names. */
export function splitCsv(text: string): Piece[] {
  const whole = text.replace(/^\ufeff/, '');
  const named = separatorLine.exec(whole);
  const table = whole.slice(named?.[0].length ?? 0);
  const builder = new PieceBuilder();
  let columns: string[] | undefined;
  let rows = 0;
  for (const cells of csvRows(table, named?.[1] ?? separatorOf(table))) {
    if (!cells.some(isVisible)) continue;
    if (!columns) {
      columns = cells.map((cell) => cell.trim());
      continue;
    }
    rows++;
    const lines: string[] = [];
    for (const [index, cell] of cells.entries()) {
      if (isVisible(cell)) lines.push(`${columns[index] || `column ${index + 1}`}: ${cell.trim()}`);
    }
    builder.block(lines.join('\n'));
  }
  if (rows === 0) builder.block((columns ?? []).filter((name) => name !== '').join(', '));
  return builder.finish();
}

/** Returns the separator that gives the most rows the same number of cells, at least two. More cells break a tie. */
function separatorOf(text: string): string {
  const sample = text.slice(0, sampleLength);
  let best = { separator: ',', rows: 0, cells: 0 };
  for (const separator of separators) {
    const rowsByCells = new Map<number, number>();
    for (const { length } of csvRows(sample, separator).take(sampleRows))
      if (length > 1) rowsByCells.set(length, (rowsByCells.get(length) ?? 0) + 1);
    for (const [cells, rows] of rowsByCells)
      if (rows > best.rows || (rows === best.rows && cells > best.cells)) best = { separator, rows, cells };
  }
  return best.separator;
}

/** Yields rows as in RFC 4180. An unclosed quote takes the rest of the text. Text after a closing quote belongs to its cell. */
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
