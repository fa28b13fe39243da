import type postgres from 'postgres';

type Read = (text: string) => unknown;
type Write = (value: unknown) => string;

const plain: Write = (value) => (value instanceof Date ? value.toISOString() : String(value));

/** Arrays by the number of their type in PostgreSQL, and how their elements are read and written: as the driver does it. */
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
    serialize: (values: unknown) => writeTexts(Array.isArray(values) ? values.map(writeOne) : values),
    parse: (array: string) => readTexts(array).map((each) => (each === null ? null : read(each))),
  };
}

/**
 * Types of PostgreSQL that are read and written otherwise than by the driver: numbers of 64 bits, and all arrays, for whose types it would ask each
 * connection that it opens by a statement that nobody awaits and that has no deadline.
 */
export const columnTypes: Record<string, postgres.PostgresType> & { bigint: postgres.PostgresType<number> } = {
  bigint: { to: 20, from: [20], parse: Number, serialize: String },
};
for (const [read, types, write] of arrays)
  for (const [name, type] of Object.entries(types)) columnTypes[`${name}[]`] = arrayOf(type, read, write);

/** Writes texts as an array of PostgreSQL. Without patterns: the driver's own take a tenth of a second of everybody's time for a megabyte of backslashes. */
export function writeTexts(texts: unknown): string {
  return Array.isArray(texts) ? `{${texts.map(written).join(',')}}` : String(texts);
}

function written(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) throw new TypeError('an array of texts has an undefined element');
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
