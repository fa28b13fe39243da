import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { gapsOf, type Receiver } from './compare-schemas.ts';
import type { Schema } from './json-schema.ts';
import { inputOf, outputOf } from './record.ts';

// Each schema checks only a few values, so compiling it would take longer.
z.config({ jitless: true });

const wording = (inner: Schema, outer: Schema, receiver: Receiver) =>
  gapsOf(inner, outer, receiver).map(({ place, kind, sent, taken }) => `${place} ${kind}: ${sent} / ${taken}`);
/** Gaps between the first schema as sender and the second as receiver, as sentences. */
const gaps = (inner: z.ZodType, outer: z.ZodType, receiver: Receiver = 'service') =>
  wording(outputOf(inner), inputOf(outer), receiver);

const { object } = z;
const [text, whole, any] = [z.string(), z.int(), z.unknown()];
const either = (...kinds: string[]) => {
  const shapes = kinds.map((kind) => object({ kind: z.literal(kind), [kind]: text }));
  return z.discriminatedUnion('kind', shapes as [z.ZodObject<{ kind: z.ZodLiteral<string> }>]);
};
/** A tree whose nodes hold a value of `leaf`. */
const tree = (leaf: z.ZodType) => {
  const node: z.ZodType = object({ leaf, children: z.lazy(() => z.array(node)) });
  return node;
};

describe('a schema within another', () => {
  it.each<[string, z.ZodType, z.ZodType]>([
    ['an integer, which is a number', whole, z.number()],
    ['anything for what takes anything', any, any],
    ['one of two types', z.union([text, z.boolean()]), z.union([z.boolean(), z.number(), text])],
    ['a literal of an enum', z.literal('a'), z.enum(['a', 'b']).nullable()],
    ['an enum for a text of that length', z.enum(['a', 'bcd']), text.min(1).max(3)],
    ['a shorter text', text.min(2).max(9), text.min(1).max(10)],
    ['the same pattern', text.regex(/^a+$/), text.regex(/^a+$/)],
    ['a format for any text', z.iso.datetime(), text],
    ['a pair for a list', z.tuple([text, text]), z.array(text).min(2)],
    ['a field more', object({ a: text, b: text }), object({ a: text })],
    ['no optional field, and none with a default', object({}), object({ a: text.optional(), b: text.default('x') })],
    ['a field that has a default, and is always sent', object({ a: text.default('x') }), object({ a: text })],
    ['an object for a map', object({ a: whole }), z.record(text, z.number())],
    ['a map with a name less', z.partialRecord(z.enum(['a']), whole), z.partialRecord(z.enum(['a', 'b']), whole)],
    ['a shape of a union', either('a'), either('a', 'b')],
    ['a tree', tree(whole), tree(z.number())],
  ])('has no gap: %s', (_, inner, outer) => {
    expect(gaps(inner, outer)).toEqual([]);
  });

  it.each<[string, z.ZodType, z.ZodType, ...string[]]>([
    ['a number, which may be no integer', z.number(), whole, ' type: a number / an integer'],
    ['anything for a string', any, text, ' type: any value / a string'],
    ['a type more', z.union([text, z.boolean()]), text, ' type: a boolean / a string'],
    ['a value more', z.enum(['a', 'b', 'c']), z.enum(['a']).nullable(), ' value: "b", "c" / "a" or null'],
    ['any text for an enum', text, z.enum(['a']), ' type: a string / "a"'],
    ['a long value', z.enum(['a', 'bcd']), text.max(2), ' type: at most 3 characters / at most 2 characters'],
    ['a text of any length', text, text.max(8), ' type: any number of characters / at most 8 characters'],
    ['a smaller number', z.number().min(0), z.number().min(1), ' type: at least 0 / at least 1'],
    ['another pattern', text.regex(/^a$/), text.regex(/^a+$/), ' type: the pattern ^a$ / the pattern ^a+$'],
    [
      'a keyword that is not compared',
      z.number(),
      z.number().multipleOf(2),
      ' type: any multipleOf / the multipleOf 2',
    ],
    ['a longer list', z.array(whole), z.array(whole).max(4), ' type: any number of entries / at most 4 entries'],
    ['other entries', z.array(text), z.array(whole), '[] type: a string / an integer'],
    ['another second entry', z.tuple([whole, text]), z.tuple([whole, whole]), '[1] type: a string / an integer'],
    ['a field less', object({}), object({ a: text }), '.a missing: nothing / a value'],
    [
      'a field less at times',
      object({ a: text.optional() }),
      object({ a: text }),
      '.a missing: maybe nothing / a value',
    ],
    [
      'a field below',
      object({ a: object({ b: whole }) }),
      object({ a: object({ b: text }) }),
      '.a.b type: an integer / a string',
    ],
    ['a field for what takes no others', object({ a: whole }), z.strictObject({}), '.a unknown: a value / nothing'],
    ['other values of a map', z.record(text, text), z.record(text, whole), '.* type: a string / an integer'],
    ['a name more', z.record(z.enum(['a', 'b']), whole), z.partialRecord(z.enum(['a']), whole), '.* value: "b" / "a"'],
    ['a shape more', either('a', 'b', 'c'), either('a', 'b'), '.kind variant: "c" / "a", "b"'],
    ['a tree of others', tree(text), tree(whole), '.leaf type: a string / an integer'],
    [
      'a shape that changed',
      either('a', 'b'),
      z.discriminatedUnion('kind', [
        object({ kind: z.literal('a'), a: whole }),
        object({ kind: z.literal('b'), b: text }),
      ]),
      '.a type: a string / an integer',
    ],
    [
      'a map for an object',
      z.record(text, whole),
      object({ a: text }),
      '.a missing: maybe nothing / a value',
      '.a type: an integer / a string',
    ],
  ])('has a gap: %s', (_, inner, outer, ...expected) => {
    expect(gaps(inner, outer)).toEqual(expected);
  });

  it('has gaps that depend on the receiver: unknown keys, and fields with a default', () => {
    const [inner, map] = [object({ a: object({ b: text }) }), object({ a: z.record(text, text) })];
    expect(gaps(inner, object({ a: object({}) }), 'operation')).toEqual(['.a.b unknown: a value / nothing']);
    expect(gaps(map, object({ a: object({}) }), 'operation')).toEqual(['.a.* unknown: any keys / nothing']);
    expect(gaps(map, map, 'operation')).toEqual([]);
    expect(gaps(inner, object({ a: object({}) }), 'service')).toEqual([]);
    expect(gaps(object({ a: text }), z.strictObject({}), 'client')).toEqual([]);
    const [none, standard] = [outputOf(object({})), outputOf(object({ a: text.default('x') }))];
    expect(wording(none, standard, 'client')).toEqual(['.a missing: nothing / a value']);
  });

  it('throws if a reference leads nowhere', () => {
    expect(() => gapsOf({ $ref: '#/$defs/A' }, { type: 'string' }, 'service')).toThrow('#/$defs/A leads nowhere');
  });
});

/** Schema of the sender, and schema of the receiver. */
type Pair = [z.ZodType, z.ZodType];
const range = fc.tuple(fc.nat(2), fc.nat(3));
const leaves = fc.constantFrom<z.ZodType>(z.null(), z.boolean(), any, z.literal('a'), z.literal(1));
const texts = range.map(([least, most]) => text.min(least).max(most));
const wholes = range.map(([least, most]) => whole.min(least).max(most));
const numbers = range.map(([least]) => z.number().min(least));
const enums = fc.subarray(['a', 'b', 'c'], { minLength: 1 }).map((values) => z.enum(values));
const names = ['a', 'b', 'c'] as const;

function objectOf(fields: Record<string, z.ZodType>, optional: string[], isStrict: boolean): z.ZodType {
  const shape = Object.entries(fields).map(([name, field]) => [
    name,
    optional.includes(name) ? field.optional() : field,
  ]);
  return (isStrict ? z.strictObject : object)(Object.fromEntries(shape) as z.ZodRawShape);
}

/** Similar pairs with few names and values, so that the receiver often accepts the sent value. */
const { pairs } = fc.letrec<{ pairs: Pair }>((tie) => ({
  pairs: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(leaves, texts, wholes, numbers, enums).map((schema): Pair => [schema, schema]),
    fc.tuple(texts, texts),
    fc.tuple(wholes, fc.oneof(wholes, numbers)),
    fc.tuple(enums, fc.oneof(enums, texts)),
    fc.tuple(fc.oneof(leaves, enums), leaves),
    tie('pairs').map(([inner, outer]): Pair => [inner, outer.nullable()]),
    fc
      .tuple(tie('pairs'), range)
      .map(([[inner, outer], [most, mostTaken]]): Pair => [z.array(inner).max(most), z.array(outer).max(mostTaken)]),
    fc.tuple(tie('pairs'), tie('pairs'), fc.boolean()).map(([[inner, outer], [second, secondTaken], isPair]): Pair => {
      return [z.tuple([inner, second]), isPair ? z.tuple([outer, secondTaken]) : z.array(outer)];
    }),
    fc.tuple(tie('pairs'), tie('pairs')).map(([[inner, outer], [other, otherTaken]]): Pair => {
      return [z.union([inner, other]), z.union([otherTaken, outer])];
    }),
    fc.tuple(tie('pairs'), fc.subarray([...names], { minLength: 1 })).map(([[inner, outer], keys]): Pair => {
      return [z.partialRecord(z.enum(keys), inner), z.record(text, outer)];
    }),
    fc
      .tuple(
        fc.dictionary(fc.constantFrom(...names), tie('pairs')),
        fc.tuple(fc.subarray([...names]), fc.subarray([...names]), fc.constantFrom(...names, 'd')),
        fc.tuple(fc.boolean(), fc.boolean()),
      )
      .map(([fields, [optional, optionalTaken, left], [isStrict, isStrictTaken]]): Pair => {
        const sent = Object.fromEntries(Object.entries(fields).map(([name, [inner]]) => [name, inner]));
        const taken = Object.entries(fields).flatMap(([name, [, outer]]) => (name === left ? [] : [[name, outer]]));
        return [objectOf(sent, optional, isStrict), objectOf(Object.fromEntries(taken), optionalTaken, isStrictTaken)];
      }),
  ),
}));

const { values } = fc.letrec((tie) => ({
  values: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, 2, 3, 0.5, '', 'a', 'b', 'c', 'ab', 'abc', 'abcd'),
    fc.array(tie('values'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names, 'd'), tie('values'), { maxKeys: 3 }),
  ),
}));

describe('of any two schemas', () => {
  it('the receiver accepts every sent value if there is no gap', () => {
    let compared = 0;
    const property = fc.property(pairs, fc.array(values, { minLength: 20, maxLength: 30 }), ([inner, outer], sent) => {
      if (gaps(inner, outer).length > 0) return;
      for (const value of sent) {
        const validated = inner.safeParse(value);
        if (!validated.success) continue;
        compared++;
        if (!outer.safeParse(validated.data).success) throw new Error(`refuses ${JSON.stringify(validated.data)}`);
      }
    });
    fc.assert(property, { numRuns: 2_000 });
    expect(compared).toBeGreaterThan(1_000);
  });

  it('each has no gap to itself', () => {
    fc.assert(
      fc.property(pairs, ([schema]) => expect(gaps(schema, schema)).toEqual([])),
      { numRuns: 500 },
    );
  });
});
