import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
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

// Each statement that deletes dead events writes down how many these were, and their bytes.
beforeEach(async () => {
  await sql`create table requeue_rounds (transaction xid8, rows bigint, bytes bigint)`;
  await sql.unsafe(`
    create function note_requeue_round() returns trigger language plpgsql as $$ begin
      insert into requeue_rounds
      select pg_current_xact_id(), count(*), sum(octet_length(bytes)) from gone where dead_at is not null having count(*) > 0;
      return null;
    end $$`);
  await sql`
    create trigger note_requeue_round after delete on failed_events referencing old table as gone
    for each statement execute function note_requeue_round()`;
});
afterEach(async () => {
  await sql`drop function if exists note_requeue_round cascade`;
  await sql`drop table if exists requeue_rounds`;
  await sql`delete from failed_events`;
});

async function bury(of: string, count: number, size = 10): Promise<void> {
  await sql`
    insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, dead_at)
    select gen_random_uuid(), ${of}, 'x.event.internal.crm.test.made', 'test.made', '{}',
      convert_to(repeat('x', ${size}), 'UTF8'), n::text, 10, date_trunc('milliseconds', now()) - (n % 7) * interval '1 second'
    from generate_series(1, ${count}::int) as n`;
}

const requeue = async (of: string) => {
  const { status, body } = await platform.admin('POST', '/admin/dead/requeue', { service: 'crm', queue: of });
  return [status, body];
};
const rounds = () =>
  sql<{ rows: number; bytes: number }[]>`
    select sum(rows)::float8 as rows, sum(bytes)::float8 as bytes from requeue_rounds group by transaction order by transaction`;

it('requeues a thousand rows in a transaction, until all are', async () => {
  await bury(queue, 2_500);
  expect(await requeue(queue)).toEqual([202, { matched: 2_500 }]);
  expect(await sql`select from failed_events where dead_at is not null`).toEqual([]);
  expect((await rounds()).map(({ rows }) => rows)).toEqual([1_000, 1_000, 500]);
});

it('requeues about 8 MiB in a transaction', async () => {
  await bury(queue, 20, 1_048_576);
  expect(await requeue(queue)).toEqual([202, { matched: 20 }]);
  expect((await rounds()).map(({ bytes }) => bytes / 1_048_576)).toEqual([8, 8, 4]);
});
