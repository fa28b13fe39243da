import { ApiError, clearable, email, instant, listEntry, text, uuid } from '@customer-platform/contracts/core';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { inputParser, parseJsonObject, queryParser } from './input.ts';

const json = (value: string | Uint8Array, type = 'application/json') =>
  parseJsonObject(Buffer.from(value as string), type);

function refusalOf(work: () => unknown): { field: string | undefined; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_request')
      return { field: error.field, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a body', () => {
  it('may be empty, or JSON with a charset', () => {
    expect(json('', 'text/plain')).toEqual({});
    expect(json('{"a":1}', 'application/json; charset=utf-8')).toEqual({ a: 1 });
  });

  it.each([['[]'], ['1'], ['null'], ['"x"'], ['{'], ['{"a":1} x']])('is refused when it is %s', (body) => {
    expect(refusalOf(() => json(body)).field).toBe('body');
  });

  it('may nest 32 levels, not 33', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(json(nested(32))).toBeDefined();
    expect(refusalOf(() => json(nested(33)))).toEqual({
      field: 'body',
      message: 'body must not nest deeper than 32 levels',
    });
    expect(json(`{"a":"${'['.repeat(100)}"}`)).toBeDefined();
  });

  it('is refused with the path of a NUL, a lone surrogate or an unsafe number, in keys too', () => {
    const parse = inputParser(z.object({ a: z.unknown() }), 'json');
    const read = (body: string) => parse(json(body));
    expect(refusalOf(() => read('{"a":{"b":["x","\\u0000"]}}'))).toEqual({
      field: 'a',
      message: 'a.b[1] must not contain the character NUL',
    });
    expect(refusalOf(() => read('{"a":"\\ud83d"}')).field).toBe('a');
    expect(refusalOf(() => read('{"a":{"\\u0000":1}}')).field).toBe('a');
    expect(read('{"a":1,"other":"\\u0000"}')).toEqual({ a: 1 });
    expect(read('{"a":"\\ud83d\\ude00"}')).toEqual({ a: '😀' });
    // Zod would drop the key silently.
    expect(refusalOf(() => read('{"a":{"b":{"__proto__":1}}}'))).toEqual({
      field: 'a',
      message: 'a.b.__proto__ is a reserved key; use another name',
    });
    expect(refusalOf(() => read('{"a":[1e400]}'))).toEqual({
      field: 'a',
      message: 'a[0] must be a number from -9007199254740991 to 9007199254740991',
    });
    expect(refusalOf(() => read('{"a":-9007199254740992}')).field).toBe('a');
    expect(read('{"a":[9007199254740991,-9007199254740991,0.1]}')).toEqual({
      a: [9_007_199_254_740_991, -9_007_199_254_740_991, 0.1],
    });
  });
});

describe('a string', () => {
  const [decomposed, composed] = ['e\u0301', '\u00e9'];

  it('is the same however its accents are written, in keys too', () => {
    const parse = inputParser(z.object({ a: z.unknown() }), 'json');
    for (const body of [JSON.stringify({ a: { [decomposed]: [decomposed] } }), '{"a":{"e\\u0301":["e\\u0301"]}}'])
      expect(parse(json(body))).toEqual({ a: { [composed]: [composed] } });
    const query = queryParser(z.object({ q: z.string(), tags: z.array(z.string()).optional() }));
    expect(query({ q: decomposed, tags: [decomposed] })).toEqual({ q: composed, tags: [composed] });
  });

  it('has the length of its composed form', () => {
    const parse = inputParser(z.object({ a: text(2) }), 'json');
    expect(parse(json(JSON.stringify({ a: decomposed.repeat(2) })))).toEqual({ a: composed.repeat(2) });
  });
});

describe('null in a change', () => {
  const parse = inputParser(
    z.object({
      title: text(5, 1).optional(),
      notes: clearable(text(5), ''),
      limit: z.int().nullable().optional(),
      nested: z.object({ on: z.boolean().optional() }).optional(),
      list: z.array(z.object({ name: z.string(), note: z.string().optional() })).optional(),
    }),
    'change',
  );

  it('clears a field that may be empty, and is refused for a field that needs a value', () => {
    expect(parse({ notes: null, limit: null })).toEqual({ notes: '', limit: null });
    expect(refusalOf(() => parse({ title: null })).field).toBe('title');
    expect(refusalOf(() => parse({ nested: null })).field).toBe('nested');
    expect(refusalOf(() => parse({ nested: { on: null } }))).toEqual({
      field: 'nested',
      message: 'nested.on must be a boolean',
    });
  });

  it('is left out of a list entry, since entries are new', () => {
    expect(parse({ list: [{ name: 'a', note: null }] })).toEqual({ list: [{ name: 'a' }] });
  });
});

describe('an input', () => {
  const schema = z.object({
    name: text(5, 2),
    count: z.int().min(1).max(10).optional(),
    kind: z.enum(['a', 'b']).default('a'),
    list: z.array(z.object({ days: z.int().nullable(), note: z.string().optional() })).optional(),
    at: instant.optional(),
    id: uuid.optional(),
  });
  const parse = inputParser(schema, 'json');
  const parseText = inputParser(z.object({ limit: z.int().max(100).default(50), q: z.string().optional() }), 'text');

  it('is refused above the limits of keys, list entries and values in total', () => {
    const field = z.object({ other: z.string().optional() });
    const bounded = inputParser(
      z.object({
        map: z.record(z.string(), z.unknown()).optional(),
        any: z.unknown().optional(),
        list: z.array(field).min(1).max(3).optional(),
        piped: z.array(field).max(3).transform(String).optional(),
      }),
      'json',
    );
    for (const [name, value, rule] of [
      ['map', [{}], 'must be an object'],
      ['list', [{}, {}, {}, {}], 'must have at most 3 entries'],
      ['piped', [{}, {}, {}, {}], 'must have at most 3 entries'],
      ['any', Array(10_001).fill(1), 'must have at most 10000 entries'],
      ['map', Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [n, n])), 'must have at most 10000 keys'],
    ] as const) {
      expect(refusalOf(() => bounded({ [name]: value })).message).toBe(`${name} ${rule}`);
    }
    const ofValues = (count: number) => json(JSON.stringify({ deep: Array(count).fill(1) }));
    expect(refusalOf(() => ofValues(100_000)).message).toBe('body must have at most 100000 values in total');
    expect(bounded({ any: ofValues(99_998) })).toHaveProperty('any.deep');
  });

  it('is refused for a value that cannot be stored, even with several shapes', () => {
    const either = z.union([z.object({ name: z.string() }), z.object({ names: z.array(z.string()).max(2) })]);
    const read = inputParser(z.object({ either }), 'json');
    expect(refusalOf(() => read({ either: { name: '\0' } })).message).toBe(
      'either.name must not contain the character NUL',
    );
    expect(refusalOf(() => read({ either: { names: ['a', 'b', 'c'] } })).message).toBe(
      'either.names must have at most 2 entries',
    );
  });

  it('is refused with the first hundred characters of a key', () => {
    const map = inputParser(z.object({ map: z.record(z.string(), z.object({ on: z.boolean() })) }), 'json');
    const { message } = refusalOf(() => map({ map: { ['k'.repeat(5_000)]: { on: 1 } } }));
    expect(message).toBe(`map.${'k'.repeat(100)}.on must be a boolean`);
  });

  it('is refused for an unknown query parameter, with the known ones', () => {
    const query = queryParser(z.object({ limit: z.int().default(50), status: z.string().optional() }));
    expect(refusalOf(() => query({ limt: '5' }))).toEqual({
      field: 'limt',
      message: 'limt is not a parameter of this operation; known parameters are limit, status',
    });
    expect(query({ limit: '5' })).toEqual({ limit: 5 });
    expect(refusalOf(() => queryParser(undefined)({ x: '' })).message).toBe(
      'x is not a parameter: this operation has none',
    );
  });

  it('is refused for a query parameter that is given twice, unless it is a list', () => {
    const query = queryParser(
      z.object({ limit: z.int().default(50), q: z.string().optional(), ids: z.array(z.string()).optional() }),
    );
    expect(refusalOf(() => query({ limit: ['1', '2'] }))).toEqual({
      field: 'limit',
      message: 'limit must be given once',
    });
    expect(refusalOf(() => query({ q: ['a', 'a'] })).message).toBe('q must be given once');
    expect(query({ ids: ['a', 'b'] })).toEqual({ limit: 50, ids: ['a', 'b'] });
  });

  it('may be a date-time whose "+" was read as a space, in a query only', () => {
    const times = z.object({ at: instant.optional(), q: z.string().optional() });
    const query = queryParser(times);
    for (const at of ['2026-11-23T09:00:00 01:00', '2026-11-23t09:00:00.5 0100', '2026-11-23T09:00 01'])
      expect(query({ at })).toEqual({ at: new Date(Date.parse(at.replace(/ .*/, '+01:00'))) });
    expect(query({ q: '2026-11-23T09:00:00 01:00' })).toEqual({ q: '2026-11-23T09:00:00 01:00' });
    for (const at of ['2026-11-23T09:00:00  01:00', '2026-11-23 09:00:00 01:00', '2026-11-23T09:00:00 01:00 '])
      expect(refusalOf(() => query({ at })).field).toBe('at');
    expect(refusalOf(() => inputParser(times, 'json')({ at: '2026-11-23T09:00:00 01:00' })).field).toBe('at');
  });

  it('is refused for an unknown key of a closed map, with the known ones', () => {
    const map = z.strictObject({ mon: z.int().optional(), tue: z.int().optional() });
    const read = inputParser(z.object({ hours: map.default({}) }), 'json');
    expect(read({ hours: { mon: 1, tue: null }, other: 1 })).toEqual({ hours: { mon: 1 } });
    expect(refusalOf(() => read({ hours: { mon: 1, monday: 1 } }))).toEqual({
      field: 'hours',
      message: 'hours.monday is not one of mon, tue',
    });
  });

  it('is refused with "1 entry" in the singular, and with the rule of several shapes if its type fits none', () => {
    const value = z.union([text(5), z.number()], { error: 'must be a string of at most 5 characters or a number' });
    const read = inputParser(
      z.object({ list: z.array(z.int()).min(1).max(1), fields: z.record(z.string(), value) }),
      'json',
    );
    const rule = (given: object) => refusalOf(() => read({ list: [1], fields: {}, ...given })).message;
    expect(rule({ list: [] })).toBe('list must have at least 1 entry');
    expect(rule({ list: [1, 2] })).toBe('list must have at most 1 entry');
    for (const wrong of [{ b: 1 }, [1], true])
      expect(rule({ fields: { a: wrong } })).toBe('fields.a must be a string of at most 5 characters or a number');
    expect(rule({ fields: { a: 'abcdef' } })).toBe('fields.a must be a string of at most 5 characters');
  });

  it('counts code points, not UTF-16 units', () => {
    expect(parse({ name: '😀😀😀😀😀' }).name).toHaveLength(10);
    expect(refusalOf(() => parse({ name: '😀😀😀😀😀😀' })).message).toBe('name must be a string of 2 to 5 characters');
    expect(refusalOf(() => parse({ name: '😀' })).field).toBe('name');
  });

  it('treats null in an optional field as left out, at every level, and keeps it where null is a value', () => {
    expect(parse({ name: 'abc', count: null, kind: null, list: [{ days: null, note: null }] })).toEqual({
      name: 'abc',
      kind: 'a',
      list: [{ days: null }],
    });
    expect(refusalOf(() => parse({ name: null })).field).toBe('name');
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{}, 'name', 'name is required'],
    [{ name: 'abc', count: 11 }, 'count', 'count must be at most 10'],
    [{ name: 'abc', count: 1.5 }, 'count', 'count must be an integer'],
    [{ name: 'abc', kind: 'c' }, 'kind', 'kind must be a or b'],
    [{ name: 'abc', list: [{ days: 1 }, {}] }, 'list', 'list[1].days is required'],
    [{ name: 'abc', list: {} }, 'list', 'list must be an array'],
    [{ name: 'abc', id: 'x' }, 'id', 'id must be an id in UUID form'],
    [
      { name: 'abc', at: '2026-01-01T00:00:00' },
      'at',
      'at must be an ISO 8601 date-time with an offset, such as 2026-11-20T09:00:00+01:00, in the years 1900 to 2199',
    ],
  ])('%j is refused at %s: %s', (given, field, message) => {
    expect(refusalOf(() => parse(given))).toEqual({ field, message });
  });

  it('is refused with the rule for values of several types, and for keys', () => {
    const several = inputParser(
      z.object({ mail: email.or(z.literal('')), days: z.record(text(3, 1), z.int()) }),
      'json',
    );
    const rule = (given: object) => refusalOf(() => several({ mail: '', days: {}, ...given })).message;
    expect(rule({ mail: 5 })).toBe('mail must be a string');
    expect(rule({ mail: 'x' })).toBe('mail must be an email address alone, such as ada@example.com');
    expect(rule({ days: { long1: 1 } })).toContain('must have valid keys: each must be a string of 1 to 3 characters');
  });

  it('takes numbers from strings only if written as integers', () => {
    expect(parseText({ limit: '7' })).toEqual({ limit: 7 });
    expect(parseText({})).toEqual({ limit: 50 });
    for (const limit of ['', ' 7', '7.0', '1e1', '0x7', ['1', '2']])
      expect(refusalOf(() => parseText({ limit })).field).toBe('limit');
    expect(refusalOf(() => parseText({ q: 'a\0' })).field).toBe('q');
  });

  it('does not let a body reach the prototype', () => {
    const parsed = parse({ name: 'abc', ...(JSON.parse('{"__proto__":{"x":1}}') as object) });
    expect((parsed as { x?: number }).x).toBeUndefined();
  });
});

describe('an instant', () => {
  const parse = inputParser(z.object({ at: instant }), 'json');
  it.each([
    '2026-02-28T09:00:00+01:00',
    '2026-02-28T09:00Z',
    '2026-02-28t09:00:00.123456z',
    '2026-02-28T09:00:00+0530',
    '2026-02-28T09:00:00-03',
  ])('%s is valid', (at) => {
    expect(parse({ at }).at).toBeInstanceOf(Date);
  });
  it('is read with every spelling of its offset, and rounded up to milliseconds', () => {
    const read = (at: string) => (parse({ at }).at as Date).toISOString();
    for (const offset of ['+01:00', '+0100', '+01'])
      expect(read(`2026-02-28T09:00:00${offset}`)).toBe('2026-02-28T08:00:00.000Z');
    expect(read('2026-02-28T09:00:00.0009Z')).toBe('2026-02-28T09:00:00.001Z');
    expect(read('2026-02-28T09:00:00.120000Z')).toBe('2026-02-28T09:00:00.120Z');
  });
  it.each([
    '2026-02-30T09:00:00Z',
    '2026-02-28',
    '2026-02-28 09:00:00Z',
    '2026-02-28T25:00:00Z',
    '1899-12-31T00:00:00Z',
    '2026-02-28T09:00:00+99:99',
    'x',
    '',
  ])('%s is invalid', (at) => {
    expect(refusalOf(() => parse({ at })).field).toBe('at');
  });
});

describe('a value of one of several shapes', () => {
  const event = z.object({
    type: z.literal('event'),
    days: z.int().min(1).max(365).nullable(),
    least: z.int().optional(),
  });
  const tag = z.object({ type: z.literal('tag'), tag: text(3, 1) });
  const one = z.discriminatedUnion('type', [event, tag], { error: 'must be an event or a tag' });
  const several = z.object({ match: z.enum(['all', 'any']), conditions: z.array(one).min(1) });
  const parse = inputParser(z.object({ rules: z.object({ conditions: z.array(z.union([one, several])) }) }), 'json');
  const refusal = (condition: unknown) => refusalOf(() => parse({ rules: { conditions: [condition] } })).message;

  it('is refused by the rules of the shape that it comes nearest to', () => {
    expect(refusal({ type: 'event', days: 999 })).toBe('rules.conditions[0].days must be at most 365');
    expect(refusal({ type: 'tag' })).toBe('rules.conditions[0].tag is required');
    expect(refusal({ match: 'all', conditions: [{ type: 'event', days: 0 }] })).toBe(
      'rules.conditions[0].conditions[0].days must be at least 1',
    );
    expect(refusal({ match: 'some', conditions: [{ type: 'tag', tag: 'a' }] })).toBe(
      'rules.conditions[0].match must be all or any',
    );
    expect(refusal({ match: 'all', conditions: [{ type: 'x' }] })).toContain('rules.conditions[0].conditions[0]');
    expect(refusal({ type: 'x' })).toBe('rules.conditions[0].type must be an event or a tag');
    expect(refusal(7)).toMatch(/^rules\.conditions\[0\] must be /);
    expect(refusal({})).toMatch(/^rules\.conditions\[0\]/);
  });

  it('treats null in an optional field as left out, and keeps it where null is a value', () => {
    expect(parse({ rules: { conditions: [{ type: 'event', days: null, least: null }] } })).toEqual({
      rules: { conditions: [{ type: 'event', days: null }] },
    });
  });
});

describe('a list entry that is refused on its own', () => {
  const schema = z.object({ name: text(5, 1), at: instant.optional() });
  it('is refused with its index, while the rest of the list is accepted', () => {
    const parse = inputParser(z.object({ events: z.array(listEntry(schema, 'Event')).max(5) }), 'json');
    const entries = [{ name: 'ok', at: null }, { name: '' }, { name: 'a\0' }, 7, null];
    expect(parse({ events: entries })).toEqual({
      events: [
        { value: { name: 'ok' } },
        { fault: 'events[1].name must be a string of 1 to 5 characters', field: 'name' },
        { fault: 'events[2].name must not contain the character NUL', field: 'name' },
        { fault: 'events[3] must be an object', field: undefined },
        { fault: 'events[4] must be an object', field: undefined },
      ],
    });
    const refusal = refusalOf(() => parse({ events: Array(6).fill(entries[0]) }));
    expect(refusal).toEqual({ field: 'events', message: 'events must have at most 5 entries' });
  });
});
