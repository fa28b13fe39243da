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

/** Reads rows of these sizes, whose ids count from 1, and the page that is made of them. */
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

describe('of the rows of a page', () => {
  it('those that fit leave the database, and the one after them', async () => {
    const half = maxPageBytes / 2;
    expect(await read([half, half, half, half])).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([half - 1, half - 1, half, half])).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([half, half])).toEqual({ read: 2, shown: 2, has_more: false, next: null });
  });

  it('the first is shown however large it is, and what comes after it is not lost', async () => {
    const large = 3 * maxPageBytes;
    expect(await read([large, 1, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([1, large, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([large, large, 1])).toEqual({ read: 2, shown: 1, has_more: true, next: '1' });
    expect(await read([large])).toEqual({ read: 1, shown: 1, has_more: false, next: null });
  });

  it('small ones are all read, up to the limit and one', async () => {
    expect(await read([1, 2, 3], 2)).toEqual({ read: 3, shown: 2, has_more: true, next: '2' });
    expect(await read([1, 2, 3], 3)).toEqual({ read: 3, shown: 3, has_more: false, next: null });
    expect(await read([])).toEqual({ read: 0, shown: 0, has_more: false, next: null });
  });
});
