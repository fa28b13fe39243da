import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';

let platform: Platform;
let sql: Database;
let queue: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  const { body } = await platform.admin('GET', '/admin/queues');
  queue = body.data.find(
    (one: { service: string; queue: string }) => one.service === 'crm' && one.queue !== 'outbox',
  ).queue;
});
afterAll(() => platform?.stop());

afterEach(async () => {
  await sql`delete from failed_events`;
});

async function addDead(of: string, count: number): Promise<void> {
  await sql`
    insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, dead_at)
    select gen_random_uuid(), ${of}, 'x.event.internal.crm.test.made', 'test.made', '{}',
      'x', n::text, 10, date_trunc('milliseconds', now()) - (n % 7) * interval '1 second'
    from generate_series(1, ${count}::int) as n`;
}

const requeue = async (of: string) => {
  const { status, body } = await platform.admin('POST', '/admin/dead/requeue', { service: 'crm', queue: of });
  return [status, body];
};

it('requeues all events of a queue, in rounds', async () => {
  await addDead(queue, 2_500);
  expect(await requeue(queue)).toEqual([202, { matched: 2_500 }]);
  expect(await sql`select from failed_events where dead_at is not null`).toEqual([]);
});
