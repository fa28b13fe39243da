import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from './database.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

const countWaiting = async (accountId: string) => {
  const [row] = await sql<
    { count: number }[]
  >`select count(*)::int as count from outbox where account_id = ${accountId}`;
  return row!.count;
};

it('an account with very many events delays no other: theirs go to the bus before it is through', async () => {
  const many = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: {} });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${many.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 30000)`;
  await other.client.createDeal({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(many.id)).toBeGreaterThan(5_000);
  await waitFor('the first events of the many', async () => (await countWaiting(many.id)) < 29_000);
  await sql`delete from outbox where account_id = ${many.id}`;
});

it('nor does one with few that are large', async () => {
  const large = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: { filler: 'x'.repeat(100_000) } });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${large.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 400)`;
  await other.client.createDeal({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(large.id)).toBeGreaterThan(100);
  await sql`delete from outbox where account_id = ${large.id}`;
});
