import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseTextArray, serializeTextArray } from './column-types.ts';
import type { Database } from './database.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

const id = '0198f1a2-0000-7000-8000-000000000000';

it.each<[string, unknown[]]>([
  ['name', ['a', 'b c']],
  ['smallint', [1, -2]],
  ['integer', [1, -2_000_000_000]],
  ['bigint', [1, 2 ** 53 - 1]],
  ['real', [1.5, -0.25]],
  ['double precision', [0.1, 1e300]],
  ['uuid', [id]],
  ['text', ['', 'NULL', '{"a,\\']],
  ['varchar', ['é']],
  ['numeric', ['1.10']],
  ['oid', ['16']],
  ['regclass', ['outbox']],
  ['tsquery', ["'a' & 'b'"]],
  ['tsvector', ["'a' 'b'"]],
  ['jsonb', [{ a: [1, '"', null] }, [], 'text', 1]],
  ['json', [{ a: 1 }]],
])('an array of %s round-trips through PostgreSQL, with null elements too', async (type, values) => {
  for (const given of [values, [...values, null], []]) {
    const [row] = await sql.unsafe(`select $1::${type}[] as given`, [given as never]);
    expect(row).toEqual({ given });
  }
});

it('boolean and timestamptz arrays are parsed; as parameters the driver would treat them as one value', async () => {
  const at = new Date('2026-11-28T09:00:00.123Z');
  const [row] = await sql`
    select ${['t', 'f', null]}::text[]::boolean[] as truths, ${[at.toISOString(), null]}::text[]::timestamptz[] as instants`;
  expect(row).toEqual({ truths: [true, false, null], instants: [at, null] });
});

const special = ['', 'NULL', 'null', '\\"', '{a,b}', '\t\\\n"', 'a b', ...' "\\{},\n\u2028\u007f🙂ä'];

describe('a text array', () => {
  it('round-trips through PostgreSQL', async () => {
    const text = fc.oneof(
      fc.constantFrom(...special),
      fc.string({ unit: 'grapheme' }).map((one) => one.replaceAll('\0', '')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const [row] = await sql<[{ texts: string[]; count: number; last: string | null }]>`
          select ${texts}::text[] as texts, cardinality(${texts}::text[]) as count, (${texts}::text[])[${texts.length}::int] as last`;
        expect(row).toEqual({ texts, count: texts.length, last: texts.at(-1) ?? null });
      }),
      { numRuns: 300 },
    );
    const [{ some }] = await sql<[{ some: (string | null)[] }]>`select ${['a', null, 'NULL']}::text[] as some`;
    expect(some).toEqual(['a', null, 'NULL']);
  });

  it('with two dimensions or another lower bound is rejected', () => {
    for (const array of ['{{a},{b}}', '{{"a,","b"}}', '[0:1]={a,b}'])
      expect(() => parseTextArray(array)).toThrow(RangeError);
  });

  it.each([
    ['backslashes', '\\'],
    ['quotes', '"'],
    ['spaces', ' '],
  ])('with a megabyte of %s is parsed in one pass', (_, character) => {
    // A parser that rescans the string takes minutes.
    const texts = Array.from({ length: 4 }, () => character.repeat(250_000));
    expect(parseTextArray(serializeTextArray(texts))).toEqual(texts);
  });
});
