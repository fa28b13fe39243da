import type { IncomingMessage } from 'node:http';
import { ApiError, type ListEntry, schemaOfEntry } from '@customer-platform/contracts/core';
import { z } from 'zod';
import { exceededBound } from '../values/json.ts';
import { describe, entries, invalid, invalidAt, nearest, pathText } from './invalid-input.ts';

/** Maximum depth of a JSON body. */
const maxDepth = 32;
/** Maximum number of values at all levels of a body. Each is visited, and 1 MB of JSON may hold half a million. */
const maxValues = 100_000;

/**
 * Parses a JSON object of at most 100,000 values in total from a body's bytes. An empty body counts as `{}`.
 * Throws invalid_request with field body.
 */
export function parseJsonObject(bytes: Buffer, contentType: string | undefined): Record<string, unknown> {
  if (bytes.length === 0) return {};
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) {
    throw invalid('body', 'body must be JSON sent with Content-Type application/json');
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid('body', 'body must be UTF-8', cause);
  }
  const beyond = exceededBound(text, { depth: maxDepth, values: maxValues });
  if (beyond === 'depth') throw invalid('body', `body must not nest deeper than ${maxDepth} levels`);
  if (beyond) throw invalid('body', `body must have at most ${maxValues} values in total`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('body', 'body must be valid JSON', cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('body', 'body must be a JSON object');
  }
  return (isAscii.test(text) && !text.includes('\\u') ? value : normalized(value)) as Record<string, unknown>;
}

const isAscii = /^[\0-\x7f]*$/;

/** Returns a JSON value with all strings and keys in Unicode NFC, so that accents are written in one way. */
function normalized(value: unknown): unknown {
  if (typeof value === 'string') return value.normalize();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(normalized);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.normalize(), normalized(entry)]));
}

/** Largest absolute value that every JSON reader takes exactly. */
const maxNumber = Number.MAX_SAFE_INTEGER;

/** Returns why PostgreSQL cannot store a string or number, to follow its path in a message; undefined if it can. */
function unstorable(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Math.abs(value) <= maxNumber ? undefined : `must be a number from -${maxNumber} to ${maxNumber}`;
  if (typeof value !== 'string') return undefined;
  if (value.includes('\0')) return 'must not contain the character NUL';
  return value.isWellFormed() ? undefined : 'must be well-formed Unicode, without lone surrogates';
}

/** Refuses values that cannot be stored, anywhere in a value without a more specific schema. */
function refuseUnstorable(value: unknown, path: readonly PropertyKey[]): void {
  const rule = unstorable(value);
  if (rule) throw invalidAt(path, rule);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const place = [...path, key];
    const keyRule = key === '__proto__' ? 'is a reserved key; use another name' : unstorable(key);
    if (keyRule) throw invalidAt(place, keyRule);
    refuseUnstorable(entry, place);
  }
}

/** Maximum number of keys or entries in a value whose shape the caller chooses. */
const maxFreeSize = 10_000;
/** Types of schemas that reject every object, so that its content need not be read. */
const scalars = new Set<string>([
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
] satisfies z.core.$ZodTypeDef['type'][]);

/** Meaning of null in an optional field that does not allow null. In a change it means no value, which the schema rejects; elsewhere, left out. */
type NullMeans = 'left out' | 'no value';

/**
 * Returns the part of a value that its schema checks: known keys at every level, without omitted optional ones. List entries count as new, even
 * in a change. Before the schema runs, refuses oversized lists and objects and values that cannot be stored. Skips unknown
 * keys and the content of values of a wrong type.
 */
function prepared(schema: z.ZodType | undefined, value: unknown, path: PropertyKey[], nullMeans: NullMeans): unknown {
  const type = schema && inputOf(schema);
  if (typeof value !== 'object' || value === null) {
    refuseUnstorable(value, path);
    return value;
  }
  if (type instanceof z.ZodUnion) return preparedUnion(type, value, path, nullMeans);
  if (type && scalars.has(type.def.type)) return value;
  if (type instanceof z.ZodArray) return Array.isArray(value) ? preparedList(type, value, path) : value;
  const isObject = type instanceof z.ZodObject;
  if ((isObject || type instanceof z.ZodRecord) && Array.isArray(value)) return value;
  if (type instanceof z.ZodRecord) return preparedMap(type, value, path);
  if (!isObject) return preparedUnknown(value, path);
  if (type.def.catchall) refuseOtherKeys(Object.keys(type.shape), value, path);
  const known: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(type.shape as Record<string, z.ZodType>)) {
    if (!Object.hasOwn(value, name)) continue;
    const entry = (value as Record<string, unknown>)[name];
    const mayBeLeftOut = nullMeans === 'left out' || field instanceof z.ZodDefault;
    if (entry === null && mayBeLeftOut && field.safeParse(undefined).success && !field.safeParse(null).success)
      continue;
    known[name] = prepared(field, entry, [...path, name], nullMeans);
  }
  return known;
}

/** Refuses an unknown key of a closed map, which contracts declare as a strict object. Dropping it would lose data. */
function refuseOtherKeys(known: readonly string[], value: object, path: PropertyKey[]): void {
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined) throw invalidAt([...path, other], `is not one of ${known.join(', ')}`);
}

/** Returns the schema that a value meets first, inside optional, nullable and default wrappers and before transforms. */
function inputOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return inputOf(schema.in as z.ZodType);
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapper ? inputOf(schema.unwrap() as z.ZodType) : schema;
}

function preparedList(type: z.ZodArray, value: unknown[], path: PropertyKey[]): unknown[] {
  const maximum = maxEntriesOf(type);
  if (maximum !== undefined && value.length > maximum) throw invalidAt(path, `must have at most ${entries(maximum)}`);
  const element = type.element as z.ZodType;
  const own = schemaOfEntry(element);
  return value.map((entry, index) =>
    own ? entryByItself(own, entry, [...path, index]) : prepared(element, entry, [...path, index], 'left out'),
  );
}

/** Reads a list entry that is accepted or refused on its own. */
function entryByItself(schema: z.ZodType, entry: unknown, path: PropertyKey[]): ListEntry<unknown> {
  try {
    return { value: parsed(schema, prepared(schema, entry, path, 'left out'), path) };
  } catch (error) {
    if (error instanceof ApiError) return { fault: error.message, field: fieldOf(error, path) };
    throw error;
  }
}

/** Returns the field that a refusal names within the entry at `place`; undefined if it names the entry itself. */
function fieldOf({ message }: ApiError, place: readonly PropertyKey[]): string | undefined {
  const [, field] = /^\.([^\s.[]+)/.exec(message.slice(pathText(place).length)) ?? [];
  return field;
}

/** Returns the maximum length that a list's schema states. */
function maxEntriesOf(type: z.ZodArray): number | undefined {
  const rules = (type.def.checks ?? []).map((check) => check._zod.def);
  const isMaximum = (rule: z.core.$ZodCheckDef): rule is z.core.$ZodCheckMaxLengthDef => rule.check === 'max_length';
  return rules.find(isMaximum)?.maximum;
}

function preparedUnknown(value: object, path: PropertyKey[]): object {
  const [size, unit] = Array.isArray(value) ? [value.length, 'entries'] : [Object.keys(value).length, 'keys'];
  if (size > maxFreeSize) throw invalidAt(path, `must have at most ${maxFreeSize} ${unit}`);
  refuseUnstorable(value, path);
  return value;
}

/** Checks a map entry by entry up to the first wrong one. Otherwise zod collects issues of up to 100,000 entries in 1 MB. */
function preparedMap(type: z.ZodRecord, value: object, path: PropertyKey[]): object {
  preparedUnknown(value, path);
  if (!(type.valueType instanceof z.ZodUnknown)) {
    for (const [key, entry] of Object.entries(value)) parsed(type, { [key]: entry }, path);
  }
  return value;
}

/** Returns the value prepared for the first shape that fits. If none fits, returns it unchanged, so that the schema reports the error. */
function preparedUnion({ options }: z.ZodUnion, value: object, path: PropertyKey[], nullMeans: NullMeans): unknown {
  let refusal: ApiError | undefined;
  for (const option of options as z.ZodType[]) {
    try {
      const candidate = prepared(option, value, path, nullMeans);
      if (option.safeParse(candidate).success) return candidate;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusal ??= error;
    }
  }
  if (refusal) throw refusal;
  return value;
}

/** Returns a parser for params or a body, built once when the operation is bound. `change` is the JSON of a PATCH. */
export function inputParser(schema: z.ZodObject | undefined, source: 'text' | 'json' | 'change') {
  if (!schema) return (): Record<string, unknown> => ({});
  const nullMeans = source === 'change' ? 'no value' : 'left out';
  return (given: Record<string, unknown>): Record<string, unknown> =>
    parsed(schema, source === 'text' ? numbersFromText(schema, given) : prepared(schema, given, [], nullMeans), []);
}

/** Returns a parser for a query. It refuses unknown parameters, since a mistyped filter must not return everything. */
export function queryParser(schema: z.ZodObject | undefined) {
  const parse = inputParser(schema, 'text');
  const known = Object.keys(schema?.shape ?? {});
  const rule =
    known.length > 0
      ? `is not a parameter of this operation; known parameters are ${known.join(', ')}`
      : 'is not a parameter: this operation has none';
  return (given: Record<string, unknown>): Record<string, unknown> => {
    const unknown = Object.keys(given).find((name) => !known.includes(name));
    if (unknown !== undefined) throw invalidAt([unknown], rule);
    const values = Object.entries(given).map(([name, value]) => [name, queryValue(schema, name, value)]);
    return parse(Object.fromEntries(values) as Record<string, unknown>);
  };
}

/** Returns a parser for the request headers that an operation reads. */
export function headersParser(schema: z.ZodObject | undefined) {
  const parse = inputParser(schema, 'text');
  const names = Object.keys(schema?.shape ?? {});
  return ({ headers }: IncomingMessage): Record<string, unknown> =>
    parse(Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]])));
}

/** A date-time whose "+" was not percent-encoded, which a query parser reads as a space. */
const dateTimeWithSpace = /^(\d{4}-\d{2}-\d{2}T[\d:.]{5,18}) (\d{2}(?::?\d{2})?)$/i;

/** Returns the single value of a query parameter. Throws if a parameter that is not a list is given twice. */
function queryValue(schema: z.ZodObject | undefined, name: string, value: unknown): unknown {
  const field = schema?.shape[name] as z.ZodType | undefined;
  if (!field) return value;
  if (Array.isArray(value) && !(inputOf(field) instanceof z.ZodArray)) throw invalidAt([name], 'must be given once');
  const parts = typeof value === 'string' ? dateTimeWithSpace.exec(value) : null;
  // A value that is valid with its space, such as a search string, stays as it is.
  return parts && !field.safeParse(value).success ? `${parts[1]}+${parts[2]}` : value;
}

/** Returns a parser for field `name`, an object in the contract, whose shape depends on another field. Throws invalid_request with that field. */
export function fieldParser<Schema extends z.ZodType>(schema: Schema, name: string) {
  return (value: unknown): z.output<Schema> => parsed(schema, prepared(schema, value, [name], 'left out'), [name]);
}

function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, path: PropertyKey[]): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = nearest(result.error.issues[0]!, given);
  throw invalidAt([...path, ...issue.path], describe(issue, given));
}

/** Converts strings from queries, paths and forms to the numbers and booleans of their schemas, if written as such. */
function numbersFromText(schema: z.ZodObject, given: Record<string, unknown>): Record<string, unknown> {
  const prepared: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    refuseUnstorable(value, [name]);
    const field = schema.shape[name] as z.ZodType | undefined;
    const type = field && inputOf(field);
    if (type instanceof z.ZodNumber && /^(0|-?[1-9]\d{0,15})$/.test(String(value))) prepared[name] = Number(value);
    else if (type instanceof z.ZodBoolean && (value === 'true' || value === 'false')) prepared[name] = value === 'true';
    // A file stays as it is.
    else prepared[name] = typeof value === 'string' || Array.isArray(value) ? normalized(value) : value;
  }
  return prepared;
}
