import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { everybody, rowsOfScope } from '../clocks/scope.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import { type KeyedRows, longestDue } from './due-rows.ts';
import { RoundRobin } from './round-robin.ts';

let platform: Platform;
let sql: Database;
const table: KeyedRows = { name: 'errands', key: { account_id: 'uuid', id: 'uuid' }, due: 'due_at' };
const now = new Date('2026-11-20T09:00:00Z');

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`create table errands (account_id uuid, id uuid, due_at timestamptz, primary key (account_id, id))`;
});
beforeEach(() => sql`truncate errands`);
afterAll(() => platform.stop());

/** Adds due errands of so many accounts, of each as many; returns the accounts in their order. */
async function add({ accounts, each }: { accounts: number; each: number }): Promise<string[]> {
  const ids = Array.from({ length: accounts }, () => randomUUID()).sort();
  await sql`
    insert into errands select account::uuid, gen_random_uuid(), ${now} from unnest(${ids}::text[]) as account, generate_series(1, ${each})`;
  return ids;
}

type Row = { account_id: string };
const accountsOf = (rows: readonly Row[]) => [...new Set(rows.map(({ account_id }) => account_id))].sort();

/** Takes a batch in one transaction, as a job does; returns its accounts. */
async function take(batches: RoundRobin, paused: readonly string[] = []): Promise<string[]> {
  return await inTransaction(sql, async (tx) => {
    const rows = await tx<Row[]>`${(await batches.next(tx, now, paused)).due}`;
    batches.took(rows.length);
    return accountsOf(rows);
  });
}

it('selects the accounts again of which a batch was rolled back', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  const batches = new RoundRobin(table, { limit: 2, locks: true });
  await take(batches);
  const rolledBack = inTransaction(sql, async (tx) => {
    expect(accountsOf(await tx<Row[]>`${(await batches.next(tx, now, [])).due}`)).toEqual(accounts.slice(0, 2));
    throw new Error('an account has to be asked for first');
  });
  await expect(rolledBack).rejects.toThrow('asked for first');
  expect(await take(batches)).toEqual(accounts.slice(0, 2));
  await take(batches);
  expect(await take(batches)).toEqual(accounts.slice(2));
});

it('selects those due longest again where the look by account has failed', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  await sql`update errands set due_at = due_at - interval '1 s' where account_id = ${accounts[3]!}`;
  const batches = new RoundRobin(table, { limit: 2 });
  expect(await take(batches)).toEqual([accounts[3]]);
  const fails = inTransaction(sql, async (tx) => {
    await tx`set local search_path = pg_catalog`;
    await batches.next(tx, now, []);
  });
  await expect(fails).rejects.toThrow();
  expect(await take(batches)).toEqual([accounts[3]]);
});

it('selects them again where others are paused, too', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  const batches = new RoundRobin(table, { limit: 2 });
  const paused = [accounts[0]!];
  await batches.next(sql, now, paused);
  expect(await take(batches, paused)).toEqual([accounts[1]]);
  expect(await take(batches, paused)).toEqual(accounts.slice(2));
});

it('selects nothing of paused endpoints, neither by time nor by account', async () => {
  const accounts = await add({ accounts: 3, each: 1 });
  // The column `id` stands for the endpoint's.
  const [paused] = await sql<{ id: string }[]>`select id from errands where account_id = ${accounts[0]!}`;
  const batches = new RoundRobin({ ...table, endpoint: 'id' }, { limit: 1, locks: true });
  const found: string[] = [];
  for (let round = 0; round < 6; round++) {
    const { due } = await batches.next(sql, now, [], [paused!.id]);
    const rows = await sql<Row[]>`${due}`;
    batches.took(rows.length);
    found.push(...accountsOf(rows));
  }
  expect([...new Set(found)].sort()).toEqual(accounts.slice(1));
});

it.each([false, true])(
  'a row that changes between the look and its lock is not taken, beside accounts with clocks: %s',
  async (leavesClocks) => {
    await sql`create table if not exists chores (account_id uuid, id uuid, due_at timestamptz, state text, primary key (account_id, id))`;
    await sql`insert into chores values (${randomUUID()}, ${randomUUID()}, ${now}, 'waiting')`;
    const gate = 4_711;
    // The look stands still in the middle: it has its snapshot, and no lock yet.
    const chores = {
      ...table,
      name: 'chores',
      where: (tx: Sql) => tx`state = 'waiting' and exists (select from pg_advisory_xact_lock_shared(${gate}))`,
    };
    const rows = rowsOfScope(chores, { ...everybody, leavesClocks });
    let taking: Promise<unknown[]> | undefined;
    await inTransaction(sql, async (tx) => {
      await tx`select pg_advisory_xact_lock(${gate})`;
      taking = inTransaction(sql, async (other) => [
        ...(await other`${longestDue(other, rows, now, { limit: 10, locks: true })}`),
      ]);
      taking.catch(() => undefined);
      await waitFor('the look to stand still', async () => {
        const waiting = await sql`select from pg_locks where locktype = 'advisory' and objid = ${gate} and not granted`;
        return waiting.length > 0;
      });
      await tx`update chores set state = 'done'`;
    });
    expect(await taking).toEqual([]);
    await sql`drop table chores`;
  },
);
