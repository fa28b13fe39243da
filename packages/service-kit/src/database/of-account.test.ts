import { randomUUID } from 'node:crypto';
import { type Platform, rowsRead, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allAccounts, rowsOfScope } from '../clocks/scope.ts';
import { type DueTable, dueRows, nextLanes } from '../due-work/due-rows.ts';
import { lockOutbox } from '../outbox/outbox.sql.ts';
import { type Database, inTransaction, type Sql } from './database.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

/** An account with nearly all rows, and another with one row. */
const [many, other] = [randomUUID(), randomUUID()];
const table: DueTable = {
  name: 'queued',
  key: { account_id: 'uuid', id: 'bigint' },
  due: 'due_at',
  attempts: 'attempts',
  error: 'error',
};
/** A time at which all of the rows are due. */
const now = new Date(Date.now() + 3_600_000);

/** Runs `work` in a transaction that is rolled back. In both tables the first account has 50,000 rows before the other's one row. */
async function inSkewedData<Result>(work: (tx: Sql) => Promise<Result>): Promise<{ result: Result; read: number }> {
  const done = new Error('done');
  let outcome: { result: Result; read: number } | undefined;
  const working = inTransaction(sql, async (tx) => {
    await tx`create temporary table queued (account_id uuid, id bigint, due_at timestamptz, attempts integer, error text,
      primary key (account_id, id)) on commit drop`;
    await tx`create index queued_due on queued (due_at)`;
    await tx`create index queued_of_account on queued (account_id, due_at)`;
    const insert = async (account: string, from: number, to: number) => {
      await tx`
        insert into queued select ${account}::uuid, n, now() + n * interval '1 ms', 0, null from generate_series(${from}::int, ${to}::int) as n`;
      await tx`
        insert into outbox (account_id, id, kind, audience, envelope)
        select ${account}::uuid, uuidv7(), 'deal.moved', 'internal', '{}' from generate_series(${from}::int, ${to}::int)`;
    };
    await insert(many, 1, 50_000);
    // The statistics do not include the other account.
    await tx.unsafe('analyze queued; analyze outbox');
    await insert(other, 50_001, 50_001);
    const before = await read(tx);
    const result = await work(tx);
    outcome = { result, read: (await read(tx)) - before };
    throw done;
  });
  await expect(working).rejects.toBe(done);
  return outcome!;
}

const read = async (tx: Sql) => (await rowsRead(tx, 'queued')) + (await rowsRead(tx, 'outbox'));

describe('if one account has nearly all rows, another is found without reading them', () => {
  it('in the outbox', async () => {
    const paused = await inSkewedData((tx) => lockOutbox(tx, { last: undefined, paused: [many] }));
    expect(paused.result.rows).toMatchObject([{ account_id: other }]);
    expect(paused.read).toBeLessThan(100);
    const { result, read } = await inSkewedData((tx) => lockOutbox(tx, { last: undefined, paused: [] }));
    expect(result.rows.map(({ account_id }) => account_id)).toContain(other);
    expect(result.isCut).toBe(true);
    expect(read).toBeLessThan(600);
  });

  it('among the accounts that have rows', async () => {
    for (const name of ['outbox', 'queued']) {
      const { result, read } = await inSkewedData((tx) => nextLanes(tx, { ...table, name }, now, { last: undefined }));
      expect(result.due.map(({ account_id }) => account_id).sort()).toEqual([many, other].sort());
      expect(read).toBeLessThan(100);
    }
  });

  it('among the accounts on the real time, if the first account has a sandbox clock', async () => {
    const { result, read } = await inSkewedData(async (tx) => {
      await tx`insert into sandbox_clocks (account_id, ahead_ms) values (${many}, 1000)`;
      return await nextLanes(tx, rowsOfScope(table, allAccounts), now, { last: undefined });
    });
    expect(result.due.map(({ account_id }) => account_id)).toEqual([other]);
    expect(read).toBeLessThan(100);
  });

  it('in a queue, by lane', async () => {
    const room = { lanes: [{ lane: { account_id: other }, running: 0, free: 10 }], limit: 50, perLane: 10, kept: 0 };
    const ofLane = await inSkewedData(async (tx) => await tx`${dueRows(tx, table, { room, now, from: 'lanes' })}`);
    expect(ofLane.result).toEqual([{ account_id: other, id: 50_001 }]);
    expect(ofLane.read).toBeLessThan(100);
  });
});
