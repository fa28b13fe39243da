import { basename, extname } from 'node:path';
import { FileError } from '../errors.ts';
import { csvLine, csvRows, separatorOf } from './csv.ts';
import { linesOf } from './lines.ts';
import { openTextFile, type TextFile, textOf } from './text-file.ts';

/** A row of a file: a line of CSV, or an object of JSON Lines. */
export interface Row {
  /** Line of the file in which it begins, from 1. */
  line: number;
  /** Its values by the names of their columns: texts in CSV, any JSON in JSON Lines. */
  values: Readonly<Record<string, unknown>>;
  /** Its cells in CSV, in the order of the columns; empty in JSON Lines. */
  cells: readonly string[];
  /** Its line in JSON Lines. */
  text?: string;
  /** Why it is none that can be read; otherwise undefined. */
  fault?: string;
}

/** A file of contacts, whose every row was read once. */
export interface RowFile extends TextFile {
  format: 'csv' | 'jsonl';
  /** Names of the columns of CSV; of JSON Lines the keys of all objects. */
  columns: readonly string[];
  rowCount: number;
  /** What the file is, for a preview. */
  description: string;
  rows(): AsyncGenerator<Row, void, undefined>;
  /** File beside it for rows that were refused, its first line (empty: none), and the line of one. Each is the same format. */
  refused: { path: string; head: string; lineOf(row: Row, error: string): string };
}

/** Characters by which the separator is told. */
const headLength = 65_536;
/** Column of the file of refused rows that says why. */
export const errorColumn = 'error';

/** Opens a file as its name says: `.jsonl` and `.ndjson` are JSON Lines, all others CSV. Throws FileError if it is not what it should be. */
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

/** Returns whether a file is JSON Lines by its name. */
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
  // A file of refused rows that was corrected gives way to the reasons of its own.
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
      path: besides(text.path, '.failed'),
      head: csvLine([...kept.map((index) => columns[index]!), errorColumn], separator),
      // Cells beyond the header follow the error: they have no column of their own.
      lineOf: ({ cells }, error) =>
        csvLine([...kept.map((index) => cells[index] ?? ''), error, ...cells.slice(columns.length)], separator),
    },
  };
}

/** Column names are compared without spaces around them, and composed: a file may have been made on any system. */
function columnName(cell: string): string {
  return cell.trim().normalize();
}

function csvRow(line: number, columns: readonly string[], cells: string[]): Row {
  const values = Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? '']));
  if (cells.length === columns.length) return { line, values, cells };
  const fault = `line ${line} has ${cells.length} cells, and the header ${columns.length}: is a separator or a quote missing?`;
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
      path: besides(text.path, '.failed'),
      head: '',
      lineOf: withError,
    },
  };
}

/**
 * Returns the line of a refused object: its text, in which a number may have more digits than it has once it is read, with the error at its end, in
 * place of the one that a file of refused rows gave it.
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
    // The sentence below says it.
  }
  throw new FileError(`${path}, line ${line}: must be an object of JSON, such as {"name": "Ada"}`);
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

/** Returns the path of a file beside another: people.csv has people.failed.csv. */
function besides(path: string, suffix: string): string {
  const extension = extname(basename(path));
  return `${path.slice(0, path.length - extension.length)}${suffix}${extension}`;
}
