import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, inTransaction } from '../database/database.ts';
import type { QueueRows } from '../database/queue-rows.ts';
import { outboxRows } from '../outbox/outbox.sql.ts';
import { measureRows, resumeFailedEvents, selectOwners } from './queues.sql.ts';

let platform: Platform;
let sql: Database;
const now = new Date('2026-11-20T09:00:00Z');
const later = new Date('2026-11-20T09:05:00Z');
const errands: QueueRows = {
  name: 'tried_errands',
  due: 'due_at',
  error: 'last_error',
  failed: (database) => database`last_error is not null`,
};

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  await sql`create table tried_errands (account_id uuid, due_at timestamptz, last_error text)`;
  await sql`create index on tried_errands (due_at) where due_at is not null`;
});
beforeEach(async () => void (await sql`truncate tried_errands`));
afterAll(() => platform?.stop());

/** Adds errands of an account. */
async function add(account: string, count: number, dueAt: Date, error: string | null): Promise<void> {
  await sql`
    insert into tried_errands select ${account}, ${dueAt}::timestamptz, ${error}::text from generate_series(1, ${count})`;
}

it('counts entries that wait after a failure, by queue and by account, without due and running ones', async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  await add(one, 3, later, '503');
  await add(one, 2, now, '503');
  await add(one, 4, later, null);
  await add(other, 1, later, null);
  expect(await measureRows(sql, errands, now)).toMatchObject({ ready: 2, later: 8, failedLater: 3 });
  expect(await selectOwners(sql, [errands], { now, by: 'account' })).toMatchObject([
    { account: one, failedLater: 3 },
    { account: other, failedLater: 0 },
  ]);
  expect(await measureRows(sql, { name: 'tried_errands', due: 'due_at' }, now)).toMatchObject({ failedLater: null });
});

it('counts the events of an outbox that the bus rejected', async () => {
  const insert = (id: string, reason: string | null) => sql`
    insert into outbox (account_id, id, kind, audience, envelope, reason, due_at)
    values (${randomUUID()}, ${id}, 'x.y', 'internal', '{}', ${reason}, '2100-01-01')`;
  const before = (await measureRows(sql, outboxRows, now)).failedLater!;
  await insert(randomUUID(), 'timeout');
  await insert(randomUUID(), null);
  expect((await measureRows(sql, outboxRows, now)).failedLater).toBe(before + 1);
});

it('events held without an attempt get their full retry time from the end of the pause, failed events from their first attempt', async () => {
  const { id } = await platform.account();
  const dayBefore = new Date(now.getTime() - 25 * 3_600_000);
  for (const tries of [0, 3]) {
    await sql`
      insert into failed_events (account_id, queue, subject, headers, bytes, reason, tries, first_at, due_at)
      values (${id}, 'held by a test', 'a', '{}', '', 'paused', ${tries}, ${dayBefore}, 'infinity')`;
  }
  await inTransaction(sql, (tx) => resumeFailedEvents(tx, now));
  const rows = await sql<{ first_at: Date }[]>`
    select first_at from failed_events where account_id = ${id} order by tries`;
  expect(rows.map(({ first_at }) => first_at)).toEqual([now, dayBefore]);
  await sql`delete from failed_events where account_id = ${id}`;
});
