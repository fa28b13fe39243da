import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { allAccounts, type Scope } from '../clocks/scope.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import type { KeyedRows } from './due-rows.ts';
import { batchOf, RowFinder } from './row-finder.ts';

let platform: Platform;
let sql: Database;
const table: KeyedRows = { name: 'errands', key: { account_id: 'uuid', id: 'uuid' }, due: 'due_at' };
const now = new Date('2026-11-20T09:00:00Z');

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`create table errands (account_id uuid, id uuid, due_at timestamptz, state text, primary key (account_id, id))`;
});
beforeEach(() => sql`truncate errands, sandbox_clocks`);
afterAll(() => platform.stop());

/** Adds `each` due errands for each of several new accounts; returns the accounts in order. */
async function add({ accounts, each }: { accounts: number; each: number }): Promise<string[]> {
  const ids = Array.from({ length: accounts }, () => randomUUID()).sort();
  await sql`
    insert into errands select account::uuid, gen_random_uuid(), ${now}, 'waiting' from unnest(${ids}::text[]) as account, generate_series(1, ${each})`;
  return ids;
}

type Row = { account_id: string };
interface Take extends Partial<Scope> {
  finder: RowFinder;
  limit: number;
  /** Number of selected rows that are not taken. */
  leaves?: number;
}

/** Takes a batch in one transaction, as a job does; returns its accounts. */
async function take({ finder, limit, leaves = 0, ...scope }: Take): Promise<string[]> {
  const { rows } = await inTransaction(sql, (tx) =>
    finder.take({ sql: tx, now, scope: { ...allAccounts, ...scope }, room: batchOf(limit) }, async (due) => {
      const selected = await tx<Row[]>`${due}`;
      return { rows: selected.slice(0, selected.length - leaves), isCut: leaves > 0 };
    }),
  );
  return [...new Set(rows.map(({ account_id }) => account_id))].sort();
}

it('takes due rows of other accounts after a full batch of those due longest', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  await sql`update errands set due_at = due_at - interval '1 s' where account_id = ${accounts[3]!}`;
  await sql`
    insert into errands select ${accounts[3]!}, gen_random_uuid(), ${now}::timestamptz - interval '1 s', 'waiting' from generate_series(1, 300)`;
  const finder = new RowFinder(table);
  expect(await take({ finder, limit: 3 })).toEqual([accounts[3]]);
  expect(await take({ finder, limit: 3 })).toEqual(accounts.slice(0, 3));
});

it('takes the rows due longest again after a look for lanes has failed', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  await sql`update errands set due_at = due_at - interval '1 s' where account_id = ${accounts[3]!}`;
  const finder = new RowFinder(table);
  expect(await take({ finder, limit: 1 })).toEqual([accounts[3]]);
  const fails = inTransaction(sql, async (tx) => {
    await tx`set local search_path = pg_catalog`;
    await finder.take({ sql: tx, now, scope: allAccounts, room: batchOf(1) }, async () => ({ rows: [] }));
  });
  await expect(fails).rejects.toThrow('does not exist');
  expect(await take({ finder, limit: 1 })).toEqual([accounts[3]]);
});

it('takes no rows of paused accounts and endpoints, whichever way it looks', async () => {
  const accounts = await add({ accounts: 4, each: 2 });
  const finder = new RowFinder(table);
  const paused = { accounts: [accounts[0]!] };
  expect(await take({ finder, limit: 2, ...paused })).toEqual([accounts[1]]);
  expect(await take({ finder, limit: 2, ...paused })).toEqual(accounts.slice(2));
  // The column `account_id` serves as the endpoint's.
  const ofEndpoints = new RowFinder({ ...table, endpoint: 'account_id' });
  const found: string[] = [];
  for (let round = 0; round < 6; round++)
    found.push(...(await take({ finder: ofEndpoints, limit: 1, endpoints: [accounts[0]!] })));
  expect(found).not.toContain(accounts[0]);
});

it('begins with the accounts that got nothing if a batch was cut short', async () => {
  const accounts = await add({ accounts: 3, each: 1 });
  const finder = new RowFinder(table);
  await take({ finder, limit: 3 });
  expect(await take({ finder, limit: 3, leaves: 2 })).toEqual([accounts[0]]);
  await take({ finder, limit: 3, leaves: 2 });
  expect(await take({ finder, limit: 3, leaves: 1 })).toEqual([accounts[1]]);
});

it('takes rows of an account with a sandbox clock only by that clock', async () => {
  const [clocked, other] = (await add({ accounts: 2, each: 1 })) as [string, string];
  await sql`insert into sandbox_clocks (account_id, ahead_ms) values (${clocked}, 1)`;
  expect(await take({ finder: new RowFinder(table), limit: 10 })).toEqual([other]);
  expect(await take({ finder: new RowFinder(table), limit: 10, account: clocked })).toEqual([clocked]);
});

it('takes no row that changes between the look and its lock', async () => {
  await add({ accounts: 1, each: 1 });
  const gate = 4_711;
  // The look pauses in the middle: it has its snapshot, and no lock yet.
  const finder = new RowFinder({
    ...table,
    where: (tx: Sql) => tx`state = 'waiting' and exists (select from pg_advisory_xact_lock_shared(${gate}))`,
  });
  let taking: Promise<string[]> | undefined;
  await inTransaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${gate})`;
    taking = take({ finder, limit: 10 });
    taking.catch(() => undefined);
    await waitFor('the look to pause', async () => {
      const waiting = await sql`select from pg_locks where locktype = 'advisory' and objid = ${gate} and not granted`;
      return waiting.length > 0;
    });
    await tx`update errands set state = 'done'`;
  });
  expect(await taking).toEqual([]);
});
