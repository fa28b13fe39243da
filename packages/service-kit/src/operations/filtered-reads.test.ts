import { expect, it } from '@jest/globals';
import type { Sql } from '../database/database.ts';
import { readFiltered, searchPermits } from './filtered-reads.ts';
import type { PrefetchCall } from './operation.ts';

const [pool, own] = ['the pool', 'a connection of its own'] as unknown as [Sql, Sql];

/** Returns the call of a customer. */
function callOf(owner: string) {
  const prefetched = {
    onConnection: (work: (sql: Sql) => unknown) => work(own),
    withPermit: (permits, what, work) => permits.use(owner, what, work),
  } as PrefetchCall;
  return { tx: pool, prefetch: <Result>(work: (call: PrefetchCall) => Promise<Result>) => work(prefetched) as Result };
}

it('reads by one filter on the connection of the call, and searches by several or a string on another', async () => {
  const read = async (sql: Sql) => sql;
  expect(await readFiltered(callOf('ada'), 'it', { indexed: [undefined, 'new'] }, read)).toBe(pool);
  expect(await readFiltered(callOf('ada'), 'it', { indexed: ['ada', undefined, 'new'] }, read)).toBe(own);
  expect(await readFiltered(callOf('ada'), 'it', { text: 'tea', indexed: [] }, read)).toBe(own);
});

it('runs one search per customer at a time, and those of other customers concurrently', async () => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const search = (owner: string, name: string) =>
    readFiltered(callOf(owner), 'it', { indexed: [1, 2] }, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  const all = [search('ada', '1'), search('ada', '2'), search('bo', '3')];
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['1', '3']);
  ends.get('1')!();
  await all[0];
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['1', '3', '2']);
  for (const name of ['2', '3']) ends.get(name)!();
  expect(await Promise.all(all)).toEqual(['1', '2', '3']);
});

it('counts background searches as those of their customer, and refuses searches beyond the queue for now', async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<string>();
  const first = searchPermits.use('ada', 'it', () => isOver);
  const more = Array.from({ length: 101 }, () => searchPermits.use('ada', 'it', async () => 'later'));
  await expect(more.at(-1)).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
  expect(await searchPermits.use('bo', 'it', async () => 'at once')).toBe('at once');
  end('first');
  expect(await first).toBe('first');
  expect(await Promise.allSettled(more)).toContainEqual({ status: 'fulfilled', value: 'later' });
});
