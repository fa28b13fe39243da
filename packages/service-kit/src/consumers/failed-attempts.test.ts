import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { type FailedEventRow, recordFailedAttempts } from '../outbox/failed-events.sql.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

it('an event keeps the attempt of the process that has it now, whatever an earlier process reports', async () => {
  const queue = 'held.twice';
  const [row] = await sql<FailedEventRow[]>`
    insert into failed_events (account_id, queue, subject, headers, bytes, reason, tries, first_at, due_at)
    values (${randomUUID()}, ${queue}, '', '{}', '', 'first', 2, now(), now() + interval '1 hour') returning *, 1 as attempts`;
  const stored = () => sql`select reason, tries, dead_at from failed_events where queue = ${queue}`;
  const late = { row: row!, reason: 'late', tries: 1, dueAt: null };
  await recordFailedAttempts(sql, [late], new Date());
  expect(await stored()).toMatchObject([{ reason: 'first', tries: 2, dead_at: null }]);
  await recordFailedAttempts(sql, [{ ...late, row: { ...row!, attempts: 2 } }], new Date());
  expect(await stored()).toMatchObject([{ reason: 'late', tries: 1, dead_at: expect.any(Date) }]);
  await sql`delete from failed_events where queue = ${queue}`;
});
