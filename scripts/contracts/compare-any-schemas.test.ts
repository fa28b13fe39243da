import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { gapsOf } from './compare-schemas.ts';
import { inputOf, outputOf } from './record.ts';

// Each schema is used for a few values: compiling it takes longer.
z.config({ jitless: true });

const hasGap = (inner: z.ZodType, outer: z.ZodType) => gapsOf(outputOf(inner), inputOf(outer), 'service').length > 0;

/** A schema of what is sent, and one of what is taken. */
type Pair = [z.ZodType, z.ZodType];
const numbers = fc.tuple(fc.nat(2), fc.nat(3), fc.constantFrom(1, 2));
const leaves = fc.constantFrom<z.ZodType>(z.null(), z.boolean(), z.unknown(), z.never(), z.literal('a'), z.literal(1));
const texts = numbers.map(([least, most]) => z.string().min(least).max(most));
const wholes = numbers.map(([least, most, step]) => z.int().gt(least).max(most).multipleOf(step));
const fractions = numbers.map(([least, , step]) =>
  z
    .number()
    .min(least)
    .multipleOf(step / 2),
);
const enums = fc.subarray(['a', 'b', 'c'], { minLength: 1 }).map((names) => z.enum(names));
const names = ['a', 'b', 'c'] as const;

function objectOf(fields: Partial<Record<string, z.ZodType>>, optional: string[], isStrict: boolean): z.ZodType {
  const shape = Object.entries(fields).map(([name, field]) => [
    name,
    optional.includes(name) ? field!.optional() : field,
  ]);
  return (isStrict ? z.strictObject : z.object)(Object.fromEntries(shape) as z.ZodRawShape);
}

/** Pairs that differ in little, of few names and few values, so that the one often takes what the other sends. */
const { pairs } = fc.letrec<{ pairs: Pair }>((tie) => ({
  pairs: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(leaves, texts, wholes, fractions, enums).map((schema): Pair => [schema, schema]),
    fc.tuple(texts, texts),
    fc.tuple(wholes, fc.oneof(wholes, fractions)),
    fc.tuple(enums, fc.oneof(enums, texts)),
    fc.tuple(fc.oneof(leaves, enums), leaves),
    tie('pairs').map(([inner, outer]): Pair => [inner, outer.nullable()]),
    fc
      .tuple(tie('pairs'), fc.nat(3), fc.nat(3))
      .map(([[inner, outer], most, mostTaken]): Pair => [z.array(inner).max(most), z.array(outer).max(mostTaken)]),
    fc.tuple(tie('pairs'), tie('pairs'), fc.boolean()).map(([[inner, outer], [second, secondTaken], isPair]): Pair => {
      return [z.tuple([inner, second]), isPair ? z.tuple([outer, secondTaken]) : z.array(outer)];
    }),
    fc.tuple(tie('pairs'), tie('pairs')).map(([[inner, outer], [other, otherTaken]]): Pair => {
      return [z.union([inner, other]), z.union([otherTaken, outer])];
    }),
    fc.tuple(tie('pairs'), leaves).map(([[inner, outer], other]): Pair => [inner, z.union([other, outer])]),
    fc.tuple(tie('pairs'), fc.subarray([...names], { minLength: 1 })).map(([[inner, outer], keys]): Pair => {
      return [z.partialRecord(z.enum(keys), inner), z.record(z.string(), outer)];
    }),
    fc
      .tuple(
        fc.dictionary(fc.constantFrom(...names), tie('pairs')),
        fc.tuple(fc.subarray([...names]), fc.subarray([...names]), fc.constantFrom(...names, 'd')),
        fc.tuple(fc.boolean(), fc.boolean()),
      )
      .map(([fields, [optional, optionalTaken, left], [isStrict, isStrictTaken]]): Pair => {
        const side = (index: 0 | 1) =>
          Object.fromEntries(Object.entries(fields).map(([name, pair]) => [name, pair[index]]));
        const { [left]: _, ...taken } = side(1);
        return [objectOf(side(0), optional, isStrict), objectOf(taken, optionalTaken, isStrictTaken)];
      }),
  ),
}));

const { values } = fc.letrec((tie) => ({
  values: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, 2, 3, 0.5, '', 'a', 'b', 'c', 'ab', 'abc', 'abcd'),
    fc.array(tie('values'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('values'), { maxKeys: 3 }),
  ),
}));

describe('of any two schemas', () => {
  it('the one takes every value that the other sends, where there is no gap', () => {
    let compared = 0;
    const property = fc.property(pairs, fc.array(values, { minLength: 20, maxLength: 30 }), ([inner, outer], sent) => {
      if (hasGap(inner, outer)) return;
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
      fc.property(pairs, ([schema]) => expect(hasGap(schema, schema)).toBe(false)),
      { numRuns: 500 },
    );
  });
});
