import { type Database, inTransaction, uuidAt } from '@customer-platform/service-kit';
import { type Platform, type Receiver, rowsRead, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { emitContactCreated, openEndpoint } from '../../test/webhooks.ts';
import { retentionOf } from '../retention/retention.ts';
import { readQueues } from './read-queues.sql.ts';

let platform: Platform;
let sql: Database;
const receivers: Receiver[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  sql = platform.database('webhooks');
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

const dayMs = 86_400_000;

it('deliveries that are too old end without blocking the reads, and later ones are sent', async () => {
  const { account, endpoint, receiver } = await openEndpoint(platform, receivers, [200]);
  const params = { endpoint_id: endpoint.id };
  await account.client.webhooks.update({ params, body: { paused: true } });
  // All within one past day; their events are gone.
  const begin = uuidAt(platform.clock.now().getTime() - 39 * dayMs).slice(0, 13);
  await sql`
    insert into deliveries (account_id, endpoint_id, id, event_id, event, url, status, next_try_at, created_at)
    select ${account.id}, ${endpoint.id}, overlay(gen_random_uuid()::text placing ${begin} from 1 for 13)::uuid,
      overlay(gen_random_uuid()::text placing ${begin} from 1 for 13)::uuid, 'contact.created', '', 'pending', now() - interval '39 days', now()
    from generate_series(1, 3000)`;
  const wanted = { accountId: account.id, endpointId: endpoint.id, limit: 4, now: new Date() };
  await inTransaction(sql, async (tx) => {
    const before = await rowsRead(tx, 'deliveries');
    const [state] = await readQueues(tx, [wanted], { busyIds: [], eventsKeptMs: retentionOf(30).keptMs });
    expect(state).toMatchObject({ due: [], found: 4, hasTooOld: true });
    expect((await rowsRead(tx, 'deliveries')) - before).toBeLessThan(100);
  });
  await sql.unsafe('analyze deliveries');
  await emitContactCreated(account);
  await account.client.webhooks.update({ params, body: { paused: false } });
  await waitFor('the new one', () => receiver.received.length === 1);
  const count = async () =>
    await sql<{ status: string; reason: string | null; count: number }[]>`
    select status, reason, count(*)::int from deliveries where account_id = ${account.id} group by status, reason order by status`;
  await waitFor('its outcome', async () => (await count()).every(({ status }) => status !== 'pending'));
  expect([...(await count())]).toEqual([
    { status: 'delivered', reason: null, count: 1 },
    { status: 'failed', reason: 'exhausted', count: 3_000 },
  ]);
});
