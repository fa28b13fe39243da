import { FileError } from '../errors.ts';

/** A row of CSV. */
export interface CsvRow {
  /** Line of the file in which the row begins, counted from 1. */
  line: number;
  cells: string[];
}

/** Separators that `separatorOf` detects. */
const separators = [',', ';', '\t', '|'];
/** Most characters of a row. A longer row is most likely an unclosed quote. */
const maxRowLength = 1024 * 1024;
/** Number of rows that are parsed to detect the separator. */
const maxSampled = 50;

/**
 * Detects the separator of a CSV file that begins with `head`. It gives most of the first rows as many cells as the header.
 * A first line such as `sep=;` sets the separator. That line is the `preamble` and not a row.
 */
export function separatorOf(head: string): { separator: string; preamble: string } {
  const [preamble = '', named] = /^sep=([^\r\n"])(?:\r\n|\r|\n)/i.exec(head) ?? [];
  if (named !== undefined) return { separator: named, preamble };
  const scores = separators.map((separator) => {
    const counts = sampled(head, separator).map(({ length }) => length);
    const width = counts[0] ?? 1;
    return width > 1 ? counts.filter((count) => count === width).length / counts.length + width / 1e6 : 0;
  });
  return { separator: separators[scores.indexOf(Math.max(...scores))]!, preamble };
}

/** Returns the first complete rows. If even the first row is incomplete, returns its beginning. */
function sampled(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  for (let at = 0; at < text.length && rows.length < maxSampled; ) {
    const row = readRow(text, at, separator, false) ?? (rows.length === 0 && readRow(text, at, separator, true));
    if (!row || row === 'unclosed') break;
    if (row.cells.length > 1 || row.cells[0] !== '') rows.push(row.cells);
    at = row.end;
  }
  return rows;
}

/**
 * Parses CSV (RFC 4180) from chunks and yields its rows, except empty ones. Lines end in CR LF, LF or CR. A quote inside an unquoted cell
 * and text after a closing quote are kept as they are. Throws FileError for an unclosed quote.
 */
export async function* csvRows(
  texts: AsyncIterable<string>,
  { separator, preamble = '' }: { separator: string; preamble?: string },
): AsyncGenerator<CsvRow> {
  let [text, line, skipped] = ['', 1, preamble.length];
  for await (const piece of withEnd(texts)) {
    text += piece ?? '';
    let at = Math.min(skipped, text.length);
    line += lineEndsIn(text, 0, at);
    skipped -= at;
    while (at < text.length) {
      const row = readRow(text, at, separator, piece === undefined);
      if (row === 'unclosed') throw new FileError(`The row in line ${line} opens a quote that is never closed`);
      if (!row) break;
      if (row.cells.some((cell) => cell !== '')) yield { line, cells: row.cells };
      line += lineEndsIn(text, at, row.end);
      at = row.end;
    }
    text = text.slice(at);
    if (text.length > maxRowLength) {
      throw new FileError(`The row in line ${line} has more than ${maxRowLength} characters: is a quote not closed?`);
    }
  }
}

async function* withEnd(texts: AsyncIterable<string>): AsyncGenerator<string | undefined> {
  yield* texts;
  yield undefined;
}

/** Reads the row at `at`; undefined if its end has not arrived yet. `isLast` means that no more text follows. */
function readRow(text: string, at: number, separator: string, isLast: boolean): ReadRow | 'unclosed' | undefined {
  const cells: string[] = [];
  for (let from = at; ; ) {
    let cell = '';
    if (text[from] === '"') {
      let quote = from;
      do {
        const begin = quote + 1;
        quote = text.indexOf('"', begin);
        if (quote === -1) return isLast ? 'unclosed' : undefined;
        cell += text.slice(begin, ++quote - (text[quote] === '"' ? 0 : 1));
      } while (text[quote] === '"');
      from = quote;
    }
    let end = from;
    while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++;
    // At the end of a chunk, a CR may be half of a CR LF, and a quote half of two.
    if (!isLast && end + 1 >= text.length && text[end] !== '\n') return undefined;
    cells.push(cell + text.slice(from, end));
    if (text[end] !== separator) return { cells, end: end + (text[end] === '\r' && text[end + 1] === '\n' ? 2 : 1) };
    from = end + 1;
  }
}

interface ReadRow {
  cells: string[];
  /** Index after the row. */
  end: number;
}

function lineEndsIn(text: string, from: number, to: number): number {
  return text.slice(from, to).match(/\r\n|\r|\n/g)?.length ?? 0;
}

/** Returns a CSV line without its line end. */
export function csvLine(cells: readonly string[], separator = ','): string {
  const isSpecial = (cell: string) => cell.includes(separator) || /["\r\n]/.test(cell);
  return cells.map((cell) => (isSpecial(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator);
}
