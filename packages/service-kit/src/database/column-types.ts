import type postgres from 'postgres';

type Read = (text: string) => unknown;
type Write = (value: unknown) => string;

const plain: Write = (value) => (value instanceof Date ? value.toISOString() : String(value));

/** PostgreSQL's array types by OID, with the functions that read and write one element as the driver does. */
const arrays: readonly (readonly [Read, Readonly<Record<string, number>>, Write?])[] = [
  [String, { text: 1009, name: 1003, varchar: 1015, uuid: 2951, numeric: 1231, oid: 1028, regclass: 2210 }],
  [String, { tsvector: 3643, tsquery: 3645 }],
  [Number, { smallint: 1005, integer: 1007, bigint: 1016, real: 1021, double: 1022 }],
  [(text) => text === 't', { boolean: 1000 }],
  [(text) => new Date(text), { timestamptz: 1185 }],
  [JSON.parse, { json: 199, jsonb: 3807 }, JSON.stringify],
];

function arrayOf(type: number, read: Read, write = plain): postgres.PostgresType {
  const writeOne = (value: unknown) => (value === null || value === undefined ? value : write(value));
  return {
    to: type,
    from: [type],
    serialize: (values: unknown) => serializeTextArray(Array.isArray(values) ? values.map(writeOne) : values),
    parse: (array: string) => parseTextArray(array).map((each) => (each === null ? null : read(each))),
  };
}

/**
 * PostgreSQL types that this module reads and writes instead of the driver: 64-bit integers and all arrays. The driver would look up array types
 * on each new connection (`fetch_types`), in a query without a deadline that nobody awaits (postgres.js #1192).
 */
export const columnTypes: Record<string, postgres.PostgresType> & { bigint: postgres.PostgresType<number> } = {
  bigint: { to: 20, from: [20], parse: Number, serialize: String },
};
for (const [read, types, write] of arrays)
  for (const [name, type] of Object.entries(types)) columnTypes[`${name}[]`] = arrayOf(type, read, write);

/** Serializes strings as a PostgreSQL array. The driver's own regular expressions block the event loop for 100 ms per megabyte of backslashes. */
export function serializeTextArray(texts: unknown): string {
  return Array.isArray(texts) ? `{${texts.map(serializeElement).join(',')}}` : String(texts);
}

function serializeElement(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) throw new TypeError('a text array must not contain undefined; use null');
  return `"${String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Parses a text array in PostgreSQL's output format. Throws RangeError unless it has one dimension with lower bound 1. */
export function parseTextArray(array: string): (string | null)[] {
  if (array[0] !== '{' || array[1] === '{') throw new RangeError('a text array must have one dimension, starting at 1');
  const texts: (string | null)[] = [];
  const end = array.length - 1;
  let [text, from, isQuoted, isInQuotes] = ['', 1, false, false];
  for (let at = 1; at <= end; at++) {
    const unit = array[at];
    const isEnd = !isInQuotes && (unit === ',' || at === end);
    if (unit !== '\\' && unit !== '"' && !isEnd) continue;
    text += array.slice(from, at);
    // The character after a backslash is part of the string.
    from = at + 1;
    if (unit === '\\') at++;
    else if (unit === '"') [isQuoted, isInQuotes] = [true, !isInQuotes];
    else if (end > 1) {
      texts.push(isQuoted || text !== 'NULL' ? text : null);
      [text, isQuoted] = ['', false];
    }
  }
  return texts;
}
