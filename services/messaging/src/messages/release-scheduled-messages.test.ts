import { allAccounts, batchOf, inTransaction, RowFinder } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { releaseScheduled, scheduledMessages } from './messages.sql.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['messaging'] });
  platform.clock.set('2026-06-01T08:00:00Z');
}, 60_000);
afterAll(() => platform.stop());

/** Inserts messages with `send_at` years ahead of the service's clock; returns their account. */
async function schedule(count: number, sendAt: string): Promise<string> {
  const { id } = await platform.account();
  await platform.database('messaging')`
    with stored as (
      insert into messages (account_id, status, given_to, purpose, steps, is_simulated, send_at, created_at)
      select ${id}, 'scheduled', '+4930901820', 'service', '[{"channel": "sms", "body": "Hello"}]', true, ${sendAt}, now()
      from generate_series(1, ${count}::int) returning account_id, id
    )
    insert into attempts (account_id, message_id, number, channel, status)
    select account_id, id, 1, 'sms', 'queued' from stored`;
  return id;
}

it('scheduled messages count as queued messages of their account', async () => {
  const account = await schedule(3, '2031-01-01T00:00:00Z');
  const { body } = await platform.admin('GET', '/admin/queues/messaging/messages');
  expect(body).toMatchObject({ ready: 0, waiting: 3, oldest_due_at: '2031-01-01T00:00:00+00:00', lag_seconds: 0 });
  expect(body.top).toMatchObject([
    {
      account,
      ready: 0,
      running: 0,
      waiting: 3,
      failed_waiting: 0,
      dead: 0,
      oldest_due_at: '2031-01-01T00:00:00+00:00',
    },
  ]);
});

it('many scheduled messages of one account delay those of another by one batch', async () => {
  const many = await schedule(3_000, '2030-01-01T00:00:00Z');
  const one = await schedule(2, '2030-01-01T01:00:00Z');
  const sql = platform.database('messaging');
  const finder = new RowFinder(scheduledMessages);
  const leftOf = async (account: string) =>
    (await sql`select from messages where account_id = ${account} and status = 'scheduled'`).count;
  const release = () =>
    inTransaction(sql, async (tx) => {
      const turn = { sql: tx, now: new Date('2030-01-02T00:00:00Z'), scope: allAccounts, room: batchOf(500) };
      return (await finder.take(turn, async (due) => ({ rows: await releaseScheduled(tx, due) }))).hasMore;
    });
  await release();
  await release();
  expect(await leftOf(one)).toBe(0);
  expect(await leftOf(many)).toBeGreaterThan(2_000);
  while (await release());
  expect(await leftOf(many)).toBe(0);
});
