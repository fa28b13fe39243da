import type postgres from 'postgres';

/** Writes a value of a type for PostgreSQL, and reads what that writes, both as the driver does it. */
interface Element {
  write(value: unknown): string;
  read(text: string): unknown;
}

const text: Element = { write: String, read: (written) => written };
const number: Element = { write: String, read: Number };
const boolean: Element = { write: String, read: (written) => written === 't' };
const instant: Element = {
  write: (value) => (value instanceof Date ? value.toISOString() : String(value)),
  read: (written) => new Date(written),
};
const json: Element = { write: JSON.stringify, read: (written) => JSON.parse(written) };

/** Types of arrays by PostgreSQL's number of each, with their elements. */
const arrays: Record<number, Element> = {
  199: json, // json[]
  1000: boolean, // boolean[]
  1003: text, // name[]
  1005: number, // smallint[]
  1007: number, // integer[]
  1015: text, // varchar[]
  1016: number, // bigint[]
  1021: number, // real[]
  1022: number, // double precision[]
  1028: text, // oid[]
  1185: instant, // timestamptz[]
  1231: text, // numeric[]
  2210: text, // regclass[]
  2951: text, // uuid[]
  3643: text, // tsvector[]
  3645: text, // tsquery[]
  3807: json, // jsonb[]
};

function arrayOf(type: number, { write, read }: Element): postgres.PostgresType {
  const writeOne = (value: unknown) => (value === null || value === undefined ? value : write(value));
  return {
    to: type,
    from: [type],
    serialize: (values: unknown) => writeTexts(Array.isArray(values) ? values.map(writeOne) : values),
    parse: (array: string) => readTexts(array).map((each) => (each === null ? null : read(each))),
  };
}

/**
 * Types of PostgreSQL, by their numbers there, that are read and written otherwise than by the driver, and all arrays: it would ask each connection that it
 * opens for them, by a statement that nobody awaits and that has no deadline.
 */
export const columnTypes = {
  bigint: { to: 20, from: [20], parse: Number, serialize: String },
  texts: { to: 1009, from: [1009], parse: readTexts, serialize: writeTexts },
  ...Object.fromEntries(Object.entries(arrays).map(([type, element]) => [type, arrayOf(Number(type), element)])),
};

/** Writes texts as an array of PostgreSQL. Without patterns: the driver's own take a tenth of a second of everybody's time for a megabyte of backslashes. */
export function writeTexts(texts: unknown): string {
  return Array.isArray(texts) ? `{${texts.map(written).join(',')}}` : String(texts);
}

function written(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) throw new TypeError('an array of texts has an undefined element');
  if (Array.isArray(value)) return writeTexts(value);
  return `"${String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Reads an array of texts as PostgreSQL writes it, of one dimension. Throws RangeError for another. */
export function readTexts(array: string): (string | null)[] {
  if (array[0] !== '{' || array[1] === '{') throw new RangeError('an array of texts has one dimension, from 1 on');
  const texts: (string | null)[] = [];
  const end = array.length - 1;
  let [text, from, isQuoted, isWithin] = ['', 1, false, false];
  for (let at = 1; at <= end; at++) {
    const unit = array[at];
    const isEnd = !isWithin && (unit === ',' || at === end);
    if (unit !== '\\' && unit !== '"' && !isEnd) continue;
    text += array.slice(from, at);
    // What a backslash escapes is part of the text.
    from = at + 1;
    if (unit === '\\') at++;
    else if (unit === '"') [isQuoted, isWithin] = [true, !isWithin];
    else if (end > 1) {
      texts.push(isQuoted || text !== 'NULL' ? text : null);
      [text, isQuoted] = ['', false];
    }
  }
  return texts;
}
