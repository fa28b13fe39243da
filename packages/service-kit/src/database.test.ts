import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, inTransaction, openDatabase } from './database.ts';
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
  ['25006', 'a server that only reads'],
  ['53100', 'a disk that is full'],
  ['58030', 'a disk that is broken'],
])('a transaction that %s refuses, %s, ends at once and keeps its connection', async (code) => {
  const process = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]!.pid;
  const before = await process();
  const refused = inTransaction(sql, (tx) =>
    tx.unsafe(`do $$ begin raise exception 'refused' using errcode = '${code}'; end $$`),
  );
  const error = await refused.catch((failure: unknown) => failure);
  expect([(error as { code: string }).code, isDatabaseUnavailable(error)]).toEqual([code, true]);
  expect(await process()).toBe(before);
});
