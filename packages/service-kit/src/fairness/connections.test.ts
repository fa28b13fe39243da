import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, inTransaction } from '../database/database.ts';
import { Connections } from './fair-permits.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'], env: { DATABASE_POOL: '4' } });
  sql = platform.database('cdp');
}, 60_000);
afterAll(() => platform?.stop());

/** Returns how many statements wait for a row that another transaction has locked. */
async function waiting(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return row!.count;
}

it('reports that the database does not respond, not that the customer asks too much, while no statement ends', async () => {
  let stillMs = 5_000;
  const connections = new Connections(3, () => stillMs);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const use = () => connections.use('ada', undefined, () => over);
  const held = [use(), use()];
  const waiting = use();
  stillMs = 6_000;
  await expect(use()).rejects.toMatchObject({ status: 503, code: 'service_unavailable' });
  stillMs = 0;
  end();
  await Promise.all([...held, waiting]);
});

it('requests of one account that wait for each other leave connections to others', async () => {
  const [busy, other] = [await platform.account(), await platform.account()];
  const { id } = await busy.client.cdp.contacts.create({ body: { name: 'Ada' } });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holding = inTransaction(sql, async (tx) => {
    await tx`select 1 from contacts where account_id = ${busy.id} and id = ${id} for update`;
    lock();
    await released;
  });
  await locked;
  const names = Array.from({ length: 20 }, (_, index) => `Ada ${index}`);
  const changes = names.map((name) => busy.request('PATCH', `/v1/cdp/contacts/${id}`, { body: { name } }));
  await waitFor('its share of the connections to wait', async () => (await waiting()) === 3);
  // Reads and writes of another account, while none of those requests has continued.
  await other.client.cdp.contacts.create({ body: { name: 'Grace' } });
  expect((await other.client.cdp.contacts.list({})).data).toMatchObject([{ name: 'Grace' }]);
  expect(await waiting()).toBe(3);
  release();
  await holding;
  expect(new Set((await Promise.all(changes)).map(({ status }) => status))).toEqual(new Set([200]));
});
