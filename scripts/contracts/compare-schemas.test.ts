import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gapsOf } from './compare-schemas.ts';
import type { Receiver } from './gap.ts';
import type { Schema } from './json-schema.ts';
import { inputOf, outputOf } from './record.ts';

const wording = (inner: Schema, outer: Schema, receiver: Receiver) =>
  gapsOf(inner, outer, receiver).map(({ place, kind, sent, taken }) => `${place} ${kind}: ${sent} / ${taken}`);
/** Gaps of what the first may send for the second, as sentences. */
const gaps = (inner: z.ZodType, outer: z.ZodType, receiver: Receiver = 'service') =>
  wording(outputOf(inner), inputOf(outer), receiver);

const object = z.object;
const either = (...kinds: string[]) => {
  const shapes = kinds.map((kind) => object({ kind: z.literal(kind), [kind]: z.string() }));
  return z.discriminatedUnion('kind', shapes as [z.ZodObject<{ kind: z.ZodLiteral<string> }>]);
};
/** A tree, whose nodes hold what `leaf` says. */
const tree = (leaf: z.ZodType) => {
  const node: z.ZodType = object({ leaf, children: z.lazy(() => z.array(node)) });
  return node;
};

describe('a schema within another', () => {
  it.each<[string, z.ZodType, z.ZodType]>([
    ['a string', z.string(), z.string()],
    ['an integer, which is a number', z.int(), z.number()],
    ['anything for what takes anything', z.unknown(), z.unknown()],
    ['a string for what takes anything', z.string(), z.unknown()],
    ['what may be null', z.string(), z.string().nullable()],
    ['one of two types', z.union([z.string(), z.boolean()]), z.union([z.boolean(), z.number(), z.string()])],
    ['a literal of an enum', z.literal('a'), z.enum(['a', 'b'])],
    ['an enum that lost a value', z.enum(['a']), z.enum(['b', 'a'])],
    ['an enum for a text of that length', z.enum(['a', 'bcd']), z.string().min(1).max(3)],
    ['an enum whose values are of several shapes', z.enum(['a', 'b']), z.union([z.literal('b'), z.literal('a')])],
    ['a shorter text', z.string().min(2).max(9), z.string().min(1).max(10)],
    ['a smaller number', z.number().min(1).max(2), z.number().gt(0).lt(3)],
    ['an integer above 0, which is at least 1', z.int().gt(0), z.int().min(1)],
    ['a multiple', z.number().multipleOf(6), z.number().multipleOf(3)],
    ['the same pattern', z.string().regex(/^a+$/), z.string().regex(/^a+$/)],
    ['a format for any text', z.iso.datetime(), z.string()],
    ['a shorter list', z.array(z.int()).max(3), z.array(z.number()).max(4)],
    ['a pair', z.tuple([z.string(), z.int()]), z.tuple([z.string(), z.number()])],
    ['a pair for a list', z.tuple([z.string(), z.string()]), z.array(z.string()).min(2)],
    ['a field more', object({ a: z.string(), b: z.string() }), object({ a: z.string() })],
    ['no optional field', object({}), object({ a: z.string().optional() })],
    ['no field with a default', object({}), object({ a: z.string().default('x') })],
    [
      'a field that has a default, and is always sent',
      object({ a: z.string().default('x') }),
      object({ a: z.string() }),
    ],
    ['a map', z.record(z.string(), z.int()), z.record(z.string(), z.number())],
    ['an object for a map', object({ a: z.int() }), z.record(z.string(), z.number())],
    ['a map with a name less', z.partialRecord(z.enum(['a']), z.int()), z.partialRecord(z.enum(['a', 'b']), z.int())],
    ['a shape of a union', either('a'), either('a', 'b')],
    ['a tree', tree(z.int()), tree(z.number())],
    ['both of two', object({ a: z.string() }).and(object({ b: z.int() })), object({ a: z.string(), b: z.number() })],
    ['what is both', object({ a: z.string(), b: z.int() }), object({ a: z.string() }).and(object({ b: z.number() }))],
  ])('has no gap: %s', (_, inner, outer) => {
    expect(gaps(inner, outer)).toEqual([]);
  });

  it.each<[string, z.ZodType, z.ZodType, string[]]>([
    ['another type', z.string(), z.number(), [' type: a string / a number']],
    ['a number, which may be no integer', z.number(), z.int(), [' type: a number / an integer']],
    ['anything for a string', z.unknown(), z.string(), [' type: any value / a string']],
    ['null', z.string().nullable(), z.string(), [' type: null / a string']],
    ['a type more', z.union([z.string(), z.boolean()]), z.string(), [' type: a boolean / a string']],
    ['a value more', z.enum(['a', 'b', 'c']), z.enum(['a']), [' value: "b", "c" / "a"']],
    ['a value more of what may be null', z.enum(['a', 'b']), z.enum(['a']).nullable(), [' value: "b" / "a" or null']],
    ['any text for an enum', z.string(), z.enum(['a']), [' type: a string / "a"']],
    [
      'an enum with a value too long',
      z.enum(['a', 'bcd']),
      z.string().max(2),
      [' bound: at most 3 characters / at most 2 characters'],
    ],
    ['a longer text', z.string().max(9), z.string().max(8), [' bound: at most 9 characters / at most 8 characters']],
    [
      'a text of any length',
      z.string(),
      z.string().max(8),
      [' bound: any number of characters / at most 8 characters'],
    ],
    ['an empty text', z.string(), z.string().min(1), [' bound: any number of characters / at least 1 characters']],
    ['a smaller number', z.number().min(0), z.number().min(1), [' bound: at least 0 / at least 1']],
    ['the bound itself', z.number().min(0), z.number().gt(0), [' bound: at least 0 / more than 0']],
    ['no multiple', z.number().multipleOf(2), z.number().multipleOf(4), [' bound: multiples of 2 / multiples of 4']],
    [
      'another pattern',
      z.string().regex(/^a$/),
      z.string().regex(/^a+$/),
      [' text: the pattern ^a$ / the pattern ^a+$'],
    ],
    ['another format', z.base64(), z.string().meta({ format: 'url' }), [' text: the format base64 / the format url']],
    ['a longer list', z.array(z.int()), z.array(z.int()).max(4), [' bound: any number of entries / at most 4 entries']],
    ['other entries', z.array(z.string()), z.array(z.int()), ['[] type: a string / an integer']],
    [
      'a third entry',
      z.tuple([z.int(), z.int(), z.int()]),
      z.tuple([z.int(), z.int()]),
      [' bound: at most 3 entries / at most 2 entries', '[2] type: an integer / no value'],
    ],
    [
      'another second entry',
      z.tuple([z.int(), z.string()]),
      z.tuple([z.int(), z.int()]),
      ['[1] type: a string / an integer'],
    ],
    ['a field less', object({}), object({ a: z.string() }), ['.a missing: nothing / a value']],
    [
      'a field that may be missing',
      object({ a: z.string().optional() }),
      object({ a: z.string() }),
      ['.a missing: maybe nothing / a value'],
    ],
    [
      'a field of another type',
      object({ a: object({ b: z.int() }) }),
      object({ a: object({ b: z.string() }) }),
      ['.a.b type: an integer / a string'],
    ],
    ['a field for what takes no others', object({ a: z.int() }), z.strictObject({}), ['.a unknown: a value / nothing']],
    [
      'other values of a map',
      z.record(z.string(), z.string()),
      z.record(z.string(), z.int()),
      ['.* type: a string / an integer'],
    ],
    [
      'a name more of a map',
      z.partialRecord(z.enum(['a', 'b']), z.int()),
      z.partialRecord(z.enum(['a']), z.int()),
      ['.* value: "b" / "a"'],
    ],
    [
      'a map for an object',
      z.record(z.string(), z.int()),
      object({ a: z.string() }),
      ['.a missing: maybe nothing / a value', '.a type: an integer / a string'],
    ],
    ['a shape more', either('a', 'b', 'c'), either('a', 'b'), ['.kind variant: "c" / "a", "b"']],
    [
      'a shape that changed',
      either('a', 'b'),
      z.discriminatedUnion('kind', [
        object({ kind: z.literal('a'), a: z.int() }),
        object({ kind: z.literal('b'), b: z.string() }),
      ]),
      ['.a type: a string / an integer'],
    ],
    ['a tree of others', tree(z.string()), tree(z.int()), ['.leaf type: a string / an integer']],
    [
      'one of two',
      object({ a: z.string() }),
      object({ a: z.string() }).and(object({ b: z.number() })),
      ['.b missing: nothing / a value'],
    ],
    ['what nobody takes', z.string(), z.never(), [' type: a string / no value']],
  ])('has a gap: %s', (_, inner, outer, expected) => {
    expect(gaps(inner, outer)).toEqual(expected);
  });
});

describe('a key that the receiver does not know', () => {
  const [inner, outer] = [object({ a: z.object({ b: z.string() }) }), object({ a: z.object({}) })];
  it('is refused, ignored, or taken as the schema says', () => {
    expect(gaps(inner, outer, 'operation')).toEqual(['.a.b unknown: a value / nothing']);
    expect(gaps(inner, outer, 'service')).toEqual([]);
    expect(gaps(object({ a: z.string() }), z.strictObject({}), 'client')).toEqual([]);
  });

  it('is refused where it may be any', () => {
    const map = object({ a: z.record(z.string(), z.string()) });
    expect(gaps(map, outer, 'operation')).toEqual(['.a.* unknown: any keys / none']);
    expect(gaps(map, map, 'operation')).toEqual([]);
  });
});

it('is a gap for a client, who knows no defaults: a field that is missing', () => {
  const [inner, outer] = [outputOf(object({})), outputOf(object({ a: z.string().default('x') }))];
  expect(wording(inner, outer, 'client')).toEqual(['.a missing: nothing / a value']);
  expect(wording(inner, outer, 'service')).toEqual([]);
});

describe('what cannot be compared', () => {
  it.each<[string, Schema, Schema]>([
    ['a keyword that nobody knows', { type: 'object' }, { type: 'object', patternProperties: { a: true } }],
    [
      'shapes of which a value must be exactly one',
      { oneOf: [{ minLength: 1 }] },
      { oneOf: [{ minLength: 1 }, { maxLength: 9 }] },
    ],
    [
      'two patterns at once',
      { type: 'string', pattern: 'a' },
      { type: 'string', allOf: [{ pattern: 'a' }, { pattern: 'b' }] },
    ],
    ['what a value must not be', { type: 'string' }, { type: 'string', not: { const: 'a' } }],
  ])('is a gap, unless it is the same: %s', (_, inner, outer) => {
    expect(gapsOf(inner, outer, 'service')).not.toEqual([]);
    expect(gapsOf(outer, outer, 'service')).toEqual([]);
  });

  it('is a reference that leads nowhere: an error names it', () => {
    expect(() => gapsOf({ $ref: '#/$defs/A' }, { type: 'string' }, 'service')).toThrow('#/$defs/A leads nowhere');
  });
});
