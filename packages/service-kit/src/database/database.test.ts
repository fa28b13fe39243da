import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, inTransaction, openDatabase, type Sql } from './database.ts';
import { isDatabaseUnavailable } from './database-errors.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 1, service: 'crm' });
});
afterAll(async () => {
  await sql?.end({ timeout: 0 });
  await platform?.stop();
});

it.each([
  ['25006', 'a read-only server'],
  ['53100', 'a full disk'],
  ['58030', 'a broken disk'],
])('a transaction that fails with %s (%s) ends at once and keeps its connection', async (code) => {
  const process = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]!.pid;
  const before = await process();
  const refused = inTransaction(sql, (tx) =>
    tx.unsafe(`do $$ begin raise exception 'refused' using errcode = '${code}'; end $$`),
  );
  const error = await refused.catch((failure: unknown) => failure);
  expect([(error as { code: string }).code, isDatabaseUnavailable(error)]).toEqual([code, true]);
  expect(await process()).toBe(before);
});

it('a transaction rejects with its first failure, even if the work ends with a later statement that is not sent', async () => {
  const refused = inTransaction(sql, async (tx) => {
    await tx`select 1 / 0`.catch(() => undefined);
    await tx`select 1`;
  });
  await expect(refused).rejects.toMatchObject({ code: '22012' });
});

it('statements sent with begin and commit belong to the transaction, which commits all or nothing', async () => {
  await sql`create temporary table kept (n int primary key)`;
  const writes = (last: number) =>
    inTransaction(sql, async (tx) => await tx`insert into kept select n + 1 from kept returning n`, {
      first: (tx) => tx`insert into kept values (1)`,
      last: (tx, rows) => [tx`insert into kept select ${rows[0]!.n} + 1`, tx`insert into kept values (${last})`],
    });
  await expect(writes(2)).rejects.toMatchObject({ code: '23505' });
  expect(await sql`select n from kept`).toEqual([]);
  expect(await writes(4)).toMatchObject([{ n: 2 }]);
  expect(await sql`select n from kept order by n`).toMatchObject([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
});

it('after a burst, single statements use one connection and the others become idle', async () => {
  const wide = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 3, service: 'crm' });
  const read = (from: Sql) => from<{ pid: number }[]>`select pg_backend_pid() as pid`.then(([row]) => row!.pid);
  const all = Promise.withResolvers<void>();
  const burst = new Set<number>();
  const transaction = async (tx: Sql) => {
    if (burst.add(await read(tx)).size === 3) all.resolve();
    await all.promise;
  };
  await Promise.all([1, 2, 3].map(() => inTransaction(wide, transaction)));
  const later = new Set([await read(wide), await read(wide), await read(wide)]);
  await wide.end({ timeout: 0 });
  expect(later.size).toBe(1);
});

it('a statement after one that failed amid its rows gets its own rows, without a gap before them', async () => {
  const breaksOff = () => sql`select 10 / (3 - i) as tenth from generate_series(1, 5) as i`;
  await expect(breaksOff()).rejects.toMatchObject({ code: '22012' });
  const one = await sql`select 1 as one`;
  expect([one.length, 0 in one, one[0]]).toEqual([1, true, { one: 1 }]);
  await expect(breaksOff()).rejects.toMatchObject({ code: '22012' });
  const many = await sql<{ i: number }[]>`select i from generate_series(1, ${5}::int) as i`;
  expect([many.length, many.map(({ i }) => i)]).toEqual([5, [1, 2, 3, 4, 5]]);
  await expect(breaksOff()).rejects.toMatchObject({ code: '22012' });
  expect(await sql`select 1 where false`).toHaveLength(0);
  await expect(breaksOff()).rejects.toMatchObject({ code: '22012' });
  const several = await sql`select 1 as one; select 2 as two`.simple();
  expect(several).toEqual([[{ one: 1 }], [{ two: 2 }]]);
});
