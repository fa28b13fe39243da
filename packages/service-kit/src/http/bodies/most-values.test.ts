import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { mostValues } from './most-values.ts';
import { bodyParser } from './request-body.ts';

const item = z.object({ sku: z.string(), quantity: z.int().default(1) });
const order = z.object({ note: z.string().optional(), items: z.array(item).max(100) });

describe('the values that a body may have', () => {
  it.each([
    ['texts, numbers and lists of them', order, 1 + 1 + 1 + 100 * 3],
    ['either of two shapes', z.object({ one: z.union([z.string(), item]) }), 1 + 3],
    ['keys of the caller', z.object({ fields: z.record(z.string(), z.number()) }), 1 + 1 + 10_000],
    ['whatever the caller likes', z.object({ params: z.unknown() }), 100_000],
    ['that several times', z.object({ events: z.array(z.object({ properties: z.unknown() })).max(500) }), 100_000],
  ])('are those of its contract, and a thousand that it does not know: %s', (_, schema, known) => {
    expect(mostValues(schema)).toBe(known + 1_000);
  });
});

describe('a body', () => {
  const parse = bodyParser({ body: order } as never);
  const read = (body: unknown) =>
    parse({ headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) });
  const items = Array.from({ length: 100 }, (_, index) => ({ sku: `tea-${index}`, quantity: 1 }));
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));

  it('may have all that its contract knows, and fields that it does not', () => {
    expect(read({ ...unknown(1_000), note: 'Thanks', items })).toEqual({ note: 'Thanks', items });
    const most = mostValues(order);
    // Each of its list, its entries and theirs is one, and so is each key of its own.
    const full = { items, ...unknown(most - 1 - 300) };
    expect(read(full)).toEqual({ items });
    expect(() => read({ ...full, more: 0 })).toThrow(`body must have at most ${most} values at all its levels`);
  });

  it('is refused before it is parsed where it has very many fields that nobody knows', () => {
    expect(() => read({ note: 'Thanks', items: [], ...unknown(90_000) })).toThrow('values at all its levels');
    expect(() => read({ items: [], more: Array(90_000).fill({ a: 0 }) })).toThrow('values at all its levels');
    const text = 'not,'.repeat(50_000);
    expect(read({ note: text, items: [] })).toEqual({ note: text, items: [] });
  });
});
