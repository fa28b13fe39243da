import { type Database, inTransaction, type Sql } from '@customer-platform/service-kit';
import {
  type Platform,
  type Receiver,
  rowsRead,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { delivery, emitContactCreated, openEndpoint } from '../../test/webhooks.ts';
import { countMatched, insertReplay, nextOfReplay, type ReplayRow } from './replays.sql.ts';

let platform: Platform;
let sql: Database;
const receivers: Receiver[] = [];
const since = '2020-01-01T00:00:00Z';

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  sql = platform.database('webhooks');
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

/** Opens an endpoint with one delivered delivery. */
async function anEndpoint() {
  const opened = await openEndpoint(platform, receivers, [200]);
  await emitContactCreated(opened.account);
  await delivery(opened.account, opened.endpoint.id);
  return opened;
}

type Opened = Awaited<ReturnType<typeof anEndpoint>>;

/** Begins a replay of all deliveries of an endpoint, due from `at` on. */
async function begin(
  tx: Sql,
  { account, endpoint }: Pick<Opened, 'endpoint'> & { account: Pick<TestAccount, 'id'> },
  at: Date,
) {
  const isOf = { account_id: account.id, endpoint_id: endpoint.id };
  const period = { since: new Date(since), until: platform.clock.now(), includes_delivered: true };
  return await insertReplay(tx, { ...isOf, ...period, matched: 1 }, at);
}

const statusOf = async ({ account, params }: Opened, { id }: Pick<ReplayRow, 'id'>) =>
  (await account.client.webhooks.replays.get({ params: { ...params, replay_id: id } })).status;

it('a replay is accepted while another transaction has locked its endpoint', async () => {
  const { account, endpoint, params } = await anEndpoint();
  const replay = await inTransaction(sql, async (tx) => {
    await tx`select from endpoints where id = ${endpoint.id} for update`;
    return await account.client.webhooks.replay({ params, body: { since, status: 'all' } });
  });
  expect(replay.matched).toBe(1);
});

it('an endpoint has at most ten running replays', async () => {
  const [opened, other] = [await anEndpoint(), await anEndpoint()];
  const replay = async ({ account, endpoint }: Opened, body: object = { since, status: 'all' }) => {
    const { status, body: response } = await account.request('POST', `/v1/webhooks/${endpoint.id}/replay`, { body });
    return [status, response.error?.code];
  };
  const later = new Date(platform.clock.now().getTime() + 3_600_000);
  for (let made = 0; made < 10; made++) await begin(sql, opened, later);
  expect(await replay(opened)).toEqual([409, 'invalid_state']);
  expect(await replay(other)).toEqual([202, undefined]);
  // A replay without deliveries completes at once.
  expect(await replay(opened, { since, until: '2020-01-02T00:00:00Z' })).toEqual([202, undefined]);
  const ofEndpoint = sql`endpoint_id = ${opened.endpoint.id} and status = 'running'`;
  await sql`update replays set status = 'completed' where id = (select id from replays where ${ofEndpoint} limit 1)`;
  expect(await replay(opened)).toEqual([202, undefined]);
});

it("an account's many replays do not delay those of other accounts", async () => {
  const [many, one] = [await anEndpoint(), await anEndpoint()];
  const now = platform.clock.now();
  const replay = await inTransaction(sql, async (tx) => {
    for (let made = 0; made < 100; made++) await begin(tx, many, new Date(now.getTime() - 60_000));
    return await begin(tx, one, now);
  });
  await waitFor('the replay', async () => (await statusOf(one, replay)) === 'completed');
  // The time at which a replay completed is the last that its row stores.
  const [before] = await sql<{ count: number }[]>`
    select count(*)::int as count from replays m join replays o on o.id = ${replay.id}
    where m.endpoint_id = ${many.endpoint.id} and m.status = 'completed' and m.rests_until < o.rests_until`;
  expect(before!.count).toBeLessThan(10);
});

it('a replay that keeps failing does not delay others of its account', async () => {
  const poison = await anEndpoint();
  const { account } = poison;
  const endpoint = await account.client.webhooks.create({ body: { url: receivers[0]!.url, events: ['webhook.test'] } });
  const other = { ...poison, endpoint, params: { endpoint_id: endpoint.id } };
  await account.client.webhooks.test({ params: other.params });
  await delivery(account, endpoint.id);
  await sql`alter table deliveries add constraint poison check (endpoint_id <> ${sql.unsafe(`'${poison.endpoint.id}'`)} or not is_manual) not valid`;
  const now = platform.clock.now();
  const [stuck, free] = await inTransaction(sql, async (tx) => [
    await begin(tx, poison, new Date(now.getTime() - 60_000)),
    await begin(tx, other, now),
  ]);
  await waitFor('the other replay', async () => (await statusOf(other, free!)) === 'completed');
  expect(await statusOf(poison, stuck!)).toBe('running');
  await sql`alter table deliveries drop constraint poison`;
  await waitFor('the one that was stuck', async () => (await statusOf(poison, stuck!)) === 'completed', 20_000);
});

it('an endpoint is not locked while its deliveries are searched', async () => {
  const opened = await anEndpoint();
  await inTransaction(sql, async (tx) => {
    await tx`lock table deliveries in access exclusive mode`;
    await begin(sql, opened, platform.clock.now());
    await waitFor('the search', async () => {
      const waiting = await tx`
        select from pg_locks w join pg_locks r using (pid)
        where not w.granted and w.relation = 'deliveries'::regclass and r.granted and r.relation = 'replays'::regclass`;
      return waiting.length > 0;
    });
    expect(await tx`select from endpoints where id = ${opened.endpoint.id} for update skip locked`).toHaveLength(1);
  });
});

it('a replay of failed deliveries reads no delivered ones', async () => {
  const { account, endpoint } = await anEndpoint();
  // The failed deliveries are the newest: a search in order of time would read all others first.
  await sql`
    insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, created_at)
    select ${account.id}, ${endpoint.id}, gen_random_uuid(), 'contact.created', '', case when n > 8000 then 'failed' else 'delivered' end,
      case when n > 8000 then 'exhausted' end, now() - interval '1 day' + n * interval '1 second'
    from generate_series(1, 12000) as n`;
  await sql`analyze deliveries`;
  const period = { since: new Date(since), until: platform.clock.now(), includes_delivered: false };
  const isOf = { account_id: account.id, endpoint_id: endpoint.id };
  expect(await countMatched(sql, { ...isOf, ...period }, new Date(since))).toBe(4000);
  const replay = await insertReplay(sql, { ...isOf, ...period, matched: 4000 }, new Date(Date.now() + 3_600_000));
  await inTransaction(sql, async (tx) => {
    const before = await rowsRead(tx, 'deliveries');
    expect(await nextOfReplay(tx, replay, new Date(since), 100)).toHaveLength(100);
    expect((await rowsRead(tx, 'deliveries')) - before).toBeLessThanOrEqual(200);
  });
});
