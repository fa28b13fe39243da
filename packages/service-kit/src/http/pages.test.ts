import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { maxPageBytes, readPage, withinPageBytes } from './pages.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

/** Returns how many rows of these sizes, with ids from 1, the query reads, and the page made of them. */
async function read(sizes: number[], limit = 100) {
  const page: Fragment = sql`
    select id, bytes from unnest(${sizes}::integer[]) with ordinality as row (bytes, id) order by id limit ${limit + 1}`;
  const rows = await sql<{ id: number; bytes: number }[]>`${withinPageBytes(sql, page, sql`id`)}`;
  const { data, has_more, next } = await readPage(
    { limit },
    {
      position: async () => 0,
      rows: async () => rows,
      bytes: (row) => row.bytes,
      item: (row) => row.id,
      cursor: 'id',
    },
  );
  return { read: rows.length, shown: data.length, has_more, next };
}

describe('the rows of a page', () => {
  it('that fit leave the database, with the one after them', async () => {
    const half = maxPageBytes / 2;
    expect(await read([half, half, half, half])).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([half - 1, half - 1, half, half])).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([half, half])).toEqual({ read: 2, shown: 2, has_more: false, next: null });
  });

  it('begin with the first one whatever its size, and later rows are not lost', async () => {
    const large = 3 * maxPageBytes;
    expect(await read([large, 1, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([1, large, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([large, large, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([large])).toEqual({ read: 1, shown: 1, has_more: false, next: null });
  });

  it('are all read if they are small, up to one more than the limit', async () => {
    expect(await read([1, 2, 3], 2)).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([1, 2, 3], 3)).toEqual({ read: 3, shown: 3, has_more: false, next: null });
    expect(await read([])).toEqual({ read: 0, shown: 0, has_more: false, next: null });
  });
});
