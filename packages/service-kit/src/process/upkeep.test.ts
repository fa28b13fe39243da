import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { allAccounts } from '../clocks/scope.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import { requestRepublication } from '../outbox/outbox.sql.ts';
import { noAccount } from '../values/no-account.ts';
import { dayMs } from '../values/zoned-time.ts';
import { forgetOldRecords, republishEvents } from './upkeep.ts';

/** The tests run in transactions that roll back, since the service runs the same jobs. */
let platform: Platform;
let sql: Database;
const now = new Date();
const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs);
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

/** Runs `work` in a transaction that rolls back. */
async function rolledBack(work: (tx: Sql) => Promise<void>): Promise<void> {
  const abort = new Error('rolled back');
  const transaction = inTransaction(sql, async (tx) => {
    await work(tx);
    throw abort;
  });
  await expect(transaction).rejects.toBe(abort);
}

/** Writes published events. */
async function publish(tx: Sql, count: number, at: Date): Promise<void> {
  await tx`
    insert into published (account_id, sequence, id, kind, audience, envelope, rounds, created_at, published_at)
    select ${randomUUID()}, n, gen_random_uuid(), 'deal.created', 'public', '{}', 0, ${at}, ${at} from generate_series(1, ${count}) n`;
}

const countOf = async (tx: Sql, table: string) => (await tx`select from ${tx(table)}`).count;

/** Runs a job once; returns whether it has more to do. */
async function round(tx: Sql, { run }: typeof republishEvents): Promise<boolean> {
  return await run({ tx, now } as Parameters<typeof run>[0], allAccounts);
}

const waitMany = (tx: Sql, accountId: string) => tx`
  insert into outbox (account_id, id, kind, audience, envelope)
  select ${accountId}, gen_random_uuid(), 'deal.created', 'public', '{}' from generate_series(1, 1000)`;

it('old records are deleted, each kind after its own retention', async () => {
  await rolledBack(async (tx) => {
    for (const days of [29, 31]) {
      await tx`
        insert into failed_events (account_id, queue, subject, headers, bytes, reason, tries, dead_at)
        values (${randomUUID()}, 'outbox', 'x', '{}', '', 'x', 10, ${daysAgo(days)})`;
    }
    for (const [index, days] of [0.9, 1.1].entries()) {
      await tx`
        insert into idempotency (account_id, method, path, key, fingerprint, status, created_at)
        values (${randomUUID()}, 'POST', '/', ${`k${index}`}, '', 204, ${daysAgo(days)})`;
    }
    await publish(tx, 2_000, daysAgo(8));
    await publish(tx, 3, daysAgo(6));
    while (await round(tx, forgetOldRecords));
    const left = ['failed_events', 'idempotency', 'published'].map((table) => countOf(tx, table));
    expect(await Promise.all(left)).toEqual([1, 1, 3]);
  });
});

it('requested events do not wait behind events of a paused account', async () => {
  await rolledBack(async (tx) => {
    const paused = randomUUID();
    await tx`
      insert into queue_pauses (account_id, queue, endpoint_id, reason, actor, paused_at)
      values (${paused}, 'outbox', ${noAccount}, 'x', 'x', now())`;
    await waitMany(tx, paused);
    await publish(tx, 2, daysAgo(1));
    await requestRepublication(tx, daysAgo(2));
    expect(await round(tx, republishEvents)).toBe(true);
    expect(await countOf(tx, 'outbox')).toBe(1_002);
  });
});
