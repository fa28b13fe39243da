import { basename, extname } from 'node:path';
import { FileError } from '../errors.ts';
import { csvLine, csvRows, separatorOf } from './csv.ts';
import { linesOf } from './lines.ts';
import { openTextFile, type TextFile, textOf } from './text-file.ts';

/** A row of a file: a row of CSV, or an object of JSON Lines. */
export interface Row {
  /** Line of the file in which the row begins, counted from 1. */
  line: number;
  /** The values by column name: strings in CSV, any JSON in JSON Lines. */
  values: Readonly<Record<string, unknown>>;
  /** The cells in the order of the columns; empty in JSON Lines. */
  cells: readonly string[];
  /** The line's text in JSON Lines. */
  text?: string;
  /** Why the row is invalid; undefined if it is valid. */
  fault?: string;
}

/** A file of contacts. All its rows were read once. */
export interface RowFile extends TextFile {
  format: 'csv' | 'jsonl';
  /** The column names of CSV; the keys of all objects of JSON Lines. */
  columns: readonly string[];
  rowCount: number;
  /** The format in words, for a preview. */
  description: string;
  rows(): AsyncGenerator<Row, void, undefined>;
  /** The file of failed rows, in the same format: its path, its first line (empty: none), and the line of a row. */
  refused: { path: string; head: string; lineOf(row: Row, error: string): string };
}

/** Number of characters that are read to detect the separator. */
const headLength = 65_536;
/** The column with the error in a file of failed rows. */
export const errorColumn = 'error';

/** Opens a file by its extension: `.jsonl` and `.ndjson` are JSON Lines, all others CSV. Throws FileError for invalid content. */
export async function openRows(path: string): Promise<RowFile> {
  const text = await openTextFile(path);
  const file = isJsonLines(path) ? await jsonFile(text) : await csvFile(text);
  const columns = new Set(file.columns);
  let rowCount = 0;
  for await (const row of file.rows()) {
    rowCount++;
    if (file.format === 'jsonl') for (const name of Object.keys(row.values)) columns.add(name);
  }
  if (rowCount === 0) throw new FileError(`${path} has no rows${file.format === 'csv' ? ' below its header' : ''}`);
  return { ...file, columns: [...columns], rowCount };
}

/** Returns whether a file's extension is one of JSON Lines. */
export function isJsonLines(path: string): boolean {
  return ['.jsonl', '.ndjson'].includes(extname(path).toLowerCase());
}

type Opened = Omit<RowFile, 'rowCount'>;

async function csvFile(text: TextFile): Promise<Opened> {
  const { separator, preamble } = separatorOf(await headOf(text));
  const format = { separator, preamble };
  const [header] = await firstOf(csvRows(textOf(text), format));
  if (!header) throw new FileError(`${text.path} is empty: its first row must name the columns`);
  const columns = header.cells.map(columnName);
  // A corrected file of failed rows has an error column already. New errors replace it.
  const kept = columns.flatMap((name, index) => (name === errorColumn ? [] : [index]));
  return {
    ...text,
    format: 'csv',
    columns,
    description: `CSV in ${text.encoding}, cells separated by ${separator === '\t' ? 'tabs' : separator}`,
    async *rows() {
      let isHeader = true;
      for await (const { line, cells } of csvRows(textOf(text), format)) {
        if (!isHeader) yield csvRow(line, columns, cells);
        isHeader = false;
      }
    },
    refused: {
      path: siblingPath(text.path, '.failed'),
      head: csvLine([...kept.map((index) => columns[index]!), errorColumn], separator),
      // Extra cells follow the error, since they have no column.
      lineOf: ({ cells }, error) =>
        csvLine([...kept.map((index) => cells[index] ?? ''), error, ...cells.slice(columns.length)], separator),
    },
  };
}

/** Returns a trimmed, composed (NFC) column name, so that names from any system compare equal. */
function columnName(cell: string): string {
  return cell.trim().normalize();
}

function csvRow(line: number, columns: readonly string[], cells: string[]): Row {
  const values = Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? '']));
  if (cells.length === columns.length) return { line, values, cells };
  const fault = `line ${line} has ${cells.length} cells, but the header has ${columns.length}: is a separator or a quote missing?`;
  return { line, values, cells, fault };
}

async function jsonFile(text: TextFile): Promise<Opened> {
  return {
    ...text,
    format: 'jsonl',
    columns: [],
    description: `JSON Lines in ${text.encoding}`,
    rows: () => jsonRows(text),
    refused: {
      path: siblingPath(text.path, '.failed'),
      head: '',
      lineOf: withError,
    },
  };
}

/**
 * Returns the line of a failed object: its original text with the error added at the end. The error replaces one from an earlier import.
 * The text is not serialized again, since parsing can round long numbers.
 */
function withError({ text = '', values }: Row, error: string): string {
  const end = (value: unknown) => `"${errorColumn}":${JSON.stringify(value)}}`;
  const [line, former] = [text.trim(), end(values[errorColumn])];
  const begin = line.slice(0, line.endsWith(former) ? -former.length : -1).trimEnd();
  return `${begin}${/[{,]$/.test(begin) ? '' : ','}${end(error)}`;
}

async function* jsonRows(file: TextFile): AsyncGenerator<Row, void, undefined> {
  let line = 0;
  for await (const text of linesOf(textOf(file))) {
    line++;
    if (text.trim() !== '') yield { line, values: objectOf(file, line, text), cells: [], text };
  }
}

function objectOf({ path }: TextFile, line: number, text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new FileError(`${path}, line ${line}: must be a JSON object, such as {"name": "Ada"}`);
}

async function headOf(file: TextFile): Promise<string> {
  let head = '';
  for await (const piece of textOf(file)) {
    head += piece;
    if (head.length >= headLength) break;
  }
  return head;
}

async function firstOf<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  for await (const value of values) return [value];
  return [];
}

/** Returns a path in the same folder with a suffix before the extension: people.csv becomes people.failed.csv. */
function siblingPath(path: string, suffix: string): string {
  const extension = extname(basename(path));
  return `${path.slice(0, path.length - extension.length)}${suffix}${extension}`;
}
