import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from './database.ts';
import { readTexts, writeTexts } from './text-arrays.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

const special = [
  '',
  ' ',
  'NULL',
  'null',
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  ',',
  '{a,b}',
  '\n',
  '\t\\\n"',
  '\u2028',
  '\u007f',
  '🙂',
  'a b',
  'ä',
];

describe('an array of texts', () => {
  it('comes back from PostgreSQL as it was', async () => {
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

  it('of two dimensions is refused', () => {
    for (const array of ['{{a},{b}}', '{{"a,","b"}}', '[0:1]={a,b}'])
      expect(() => readTexts(array)).toThrow(RangeError);
  });

  it.each([
    ['backslashes', '\\'],
    ['quotes', '"'],
    ['spaces', ' '],
  ])('of a megabyte of %s is read in one pass', (_, character) => {
    // What looks for the same again and again takes minutes.
    const texts = Array.from({ length: 4 }, () => character.repeat(250_000));
    expect(readTexts(writeTexts(texts))).toEqual(texts);
  });
});
