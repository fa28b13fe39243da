import type { IncomingMessage } from 'node:http';
import { ApiError, type ListEntry, schemaOfEntry } from '@customer-platform/contracts/core';
import { z } from 'zod';
import { brokenBound } from '../values/json.ts';
import { describe, entries, invalid, invalidAt, nearest, pathText } from './invalid-input.ts';

/** Maximum depth of a JSON body. */
const maxDepth = 32;
/** Maximum number of values at all levels of a body: each is looked at, and a megabyte of JSON has room for half a million. */
const maxValues = 100_000;

/**
 * Reads a JSON object of at most 100,000 values at all its levels from a body's bytes. Throws invalid_request with field body; an empty body
 * counts as `{}`.
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
  const beyond = brokenBound(text, { depth: maxDepth, values: maxValues });
  if (beyond === 'depth') throw invalid('body', `body must not nest deeper than ${maxDepth} levels`);
  if (beyond) throw invalid('body', `body must have at most ${maxValues} values at all its levels`);
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

/** Returns a JSON value with all texts in it, keys too, in NFC: however a client writes an accent, it is the same text. */
function normalized(value: unknown): unknown {
  if (typeof value === 'string') return value.normalize();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(normalized);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.normalize(), normalized(entry)]));
}

/** Largest number, either way, that every reader of JSON takes as it was written. */
const mostNumber = Number.MAX_SAFE_INTEGER;

/** Returns why PostgreSQL cannot store a text or a number, as the end of a sentence that begins with its path; undefined where it can. */
function unstorable(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Math.abs(value) <= mostNumber ? undefined : `must be a number from -${mostNumber} to ${mostNumber}`;
  if (typeof value !== 'string') return undefined;
  if (value.includes('\0')) return 'must not contain the character NUL';
  return value.isWellFormed() ? undefined : 'must be well-formed Unicode, without lone surrogates';
}

/** Refuses what cannot be stored anywhere in a value of which no schema says more. */
function refuseUnstorable(value: unknown, path: readonly PropertyKey[]): void {
  const rule = unstorable(value);
  if (rule) throw invalidAt(path, rule);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const place = [...path, key];
    const keyRule = key === '__proto__' ? 'is no key that can be stored' : unstorable(key);
    if (keyRule) throw invalidAt(place, keyRule);
    refuseUnstorable(entry, place);
  }
}

/** Maximum number of keys or entries of what the caller shapes. */
const maxFreeSize = 10_000;
/** Schemas that refuse every object: there is nothing to look at in one. */
const scalars = new Set<string>([
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
] satisfies z.core.$ZodTypeDef['type'][]);

/** What null says in an optional field that has no other meaning for it: in a change that it should have no value, which its schema refuses. */
type NullMeans = 'left out' | 'no value';

/**
 * What a schema is asked about: the keys that it knows, without optional ones that are left out, at every level whose
 * shape is known; entries of lists are new, also in a change. Before any rule of a schema runs, lists and objects are held to their bounds and values that cannot be stored are
 * refused; keys that nobody knows are not even looked at, nor is anything in a value of the wrong type.
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

/** Refuses a key that a closed map, which contracts declare as a strict object, does not have: dropping it would lose what it says. */
function refuseOtherKeys(known: readonly string[], value: object, path: PropertyKey[]): void {
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined) throw invalidAt([...path, other], `is not one of ${known.join(', ')}`);
}

/** The schema that a value meets first: under optional, nullable and default wrappers, and before what is made of it. */
function inputOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return inputOf(schema.in as z.ZodType);
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapper ? inputOf(schema.unwrap() as z.ZodType) : schema;
}

function preparedList(type: z.ZodArray, value: unknown[], path: PropertyKey[]): unknown[] {
  const maximum = mostEntries(type);
  if (maximum !== undefined && value.length > maximum) throw invalidAt(path, `must have at most ${entries(maximum)}`);
  const element = type.element as z.ZodType;
  const own = schemaOfEntry(element);
  return value.map((entry, index) =>
    own ? entryByItself(own, entry, [...path, index]) : prepared(element, entry, [...path, index], 'left out'),
  );
}

/** Reads an entry that is taken or refused by itself. */
function entryByItself(schema: z.ZodType, entry: unknown, path: PropertyKey[]): ListEntry<unknown> {
  try {
    return { value: parsed(schema, prepared(schema, entry, path, 'left out'), path) };
  } catch (error) {
    if (error instanceof ApiError) return { fault: error.message, field: fieldOf(error, path) };
    throw error;
  }
}

/** The field of an entry at `place` that a refusal names, which begins with its whole path; undefined where it is the entry itself. */
function fieldOf({ message }: ApiError, place: readonly PropertyKey[]): string | undefined {
  const [, field] = /^\.([^\s.[]+)/.exec(message.slice(pathText(place).length)) ?? [];
  return field;
}

/** The maximum that the schema of a list states. */
function mostEntries(type: z.ZodArray): number | undefined {
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

/** Holds the entries of a map to its schema one by one, up to the first that is wrong: of all each rule that one breaks would be noted, a hundred thousand in a megabyte. */
function preparedMap(type: z.ZodRecord, value: object, path: PropertyKey[]): object {
  preparedUnknown(value, path);
  if (!(type.valueType instanceof z.ZodUnknown)) {
    for (const [key, entry] of Object.entries(value)) parsed(type, { [key]: entry }, path);
  }
  return value;
}

/** Of several shapes the first that fits; the value as it is where none does, for the schema to say what is wrong. */
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

/** A parser of one input (params or body) made from its schema once, when the operation is bound. `change` is the JSON of a PATCH. */
export function inputParser(schema: z.ZodObject | undefined, source: 'text' | 'json' | 'change') {
  if (!schema) return (): Record<string, unknown> => ({});
  const nullMeans = source === 'change' ? 'no value' : 'left out';
  return (given: Record<string, unknown>): Record<string, unknown> =>
    parsed(schema, source === 'text' ? numbersFromText(schema, given) : prepared(schema, given, [], nullMeans), []);
}

/** A parser of a query. One that has a parameter which the operation does not have is refused: a mistyped filter must not return everything. */
export function queryParser(schema: z.ZodObject | undefined) {
  const parse = inputParser(schema, 'text');
  const known = Object.keys(schema?.shape ?? {});
  const rule =
    known.length > 0
      ? `is not a parameter of this operation; known are ${known.join(', ')}`
      : 'is not a parameter: this operation has none';
  return (given: Record<string, unknown>): Record<string, unknown> => {
    const unknown = Object.keys(given).find((name) => !known.includes(name));
    if (unknown !== undefined) throw invalidAt([unknown], rule);
    const values = Object.entries(given).map(([name, value]) => [name, queryValue(schema, name, value)]);
    return parse(Object.fromEntries(values) as Record<string, unknown>);
  };
}

/** A parser of the headers of a request that an operation reads. */
export function headersParser(schema: z.ZodObject | undefined) {
  const parse = inputParser(schema, 'text');
  const names = Object.keys(schema?.shape ?? {});
  return ({ headers }: IncomingMessage): Record<string, unknown> =>
    parse(Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]])));
}

/** A date-time whose "+" was sent as it is: in a query it means a space. */
const dateTimeWithSpace = /^(\d{4}-\d{2}-\d{2}T[\d:.]{5,18}) (\d{2}(?::?\d{2})?)$/i;

/** The one value of a query's parameter. Throws where a parameter that is no list is given twice. */
function queryValue(schema: z.ZodObject | undefined, name: string, value: unknown): unknown {
  const field = schema?.shape[name] as z.ZodType | undefined;
  if (!field) return value;
  if (Array.isArray(value) && !(inputOf(field) instanceof z.ZodArray)) throw invalidAt([name], 'must be given once');
  const parts = typeof value === 'string' ? dateTimeWithSpace.exec(value) : null;
  // What is accepted with its space, such as a text to search for, stays as it is.
  return parts && !field.safeParse(value).success ? `${parts[1]}+${parts[2]}` : value;
}

/** A parser of a field `name` whose shape depends on another one, and which the contract declares as any object. Throws invalid_request with that field. */
export function fieldParser<Schema extends z.ZodType>(schema: Schema, name: string) {
  return (value: unknown): z.output<Schema> => parsed(schema, prepared(schema, value, [name], 'left out'), [name]);
}

function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, path: PropertyKey[]): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = nearest(result.error.issues[0]!, given);
  throw invalidAt([...path, ...issue.path], describe(issue, given));
}

/** Values of queries, paths and forms are text; those whose schema is a number or a boolean become one where they are written as one. */
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
