import type { Endpoint } from '@customer-platform/contracts/webhooks';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { deliveriesTo, delivery, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;
let paths = 0;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_RETRY_SCHEDULE: '0,1s,1s' } });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), receiver?.stop()]);
});

/** Creates an account with two endpoints: the first is paused, the second shows that deliveries continue. */
async function openPaused() {
  const account = await platform.account();
  const [path, otherPath] = [`/${paths++}`, `/${paths++}`];
  const endpoint = await register(account, receiver.url + path);
  const other = await register(account, receiver.url + otherPath);
  expect(endpoint.paused).toBe(false);
  const paused = await change(account, endpoint, { paused: true });
  expect(paused).toMatchObject({ active: true, paused: true });
  const receivedAt = (at: string) => receiver.received.filter(({ path }) => path === at);
  return { account, endpoint, other, received: () => receivedAt(path), others: () => receivedAt(otherPath) };
}

const change = (account: TestAccount, { id }: Pick<Endpoint, 'id'>, body: { paused?: boolean; active?: boolean }) =>
  account.client.webhooks.update({ params: { endpoint_id: id }, body });

const statuses = async (account: TestAccount, { id }: Pick<Endpoint, 'id'>) =>
  (await deliveriesTo(account, id)).map(({ status, reason }) => [status, reason]);

it('creates deliveries and attempts none until it resumes, oldest first, while other endpoints receive theirs', async () => {
  const { account, endpoint, received, others } = await openPaused();
  for (let index = 0; index < 5; index++) {
    await emitContactCreated(account, `Contact ${index}`);
    await waitFor('the other delivery', () => others().length === index + 1);
  }
  expect(await statuses(account, endpoint)).toEqual(Array(5).fill(['pending', null]));
  expect(received()).toEqual([]);
  expect(await change(account, endpoint, { paused: false })).toMatchObject({ paused: false });
  await waitFor('all of them', () => received().length === 5);
  // A new endpoint has one attempt in flight: the first is the oldest.
  expect(JSON.parse(received()[0]!.body).data.contact.name).toBe('Contact 0');
  await emitContactCreated(account);
  await waitFor('what follows', () => received().length === 6);
});

it('accepts a test, a redelivery and a replay, which wait', async () => {
  const { account, endpoint, received, others } = await openPaused();
  const params = { endpoint_id: endpoint.id };
  await change(account, endpoint, { paused: false });
  await emitContactCreated(account);
  const first = await delivery(account, endpoint.id);
  await change(account, endpoint, { paused: true });
  const since = new Date(platform.clock.now().getTime() - 60_000).toISOString();
  const replay = await account.client.webhooks.replay({ params, body: { since, status: 'all' } });
  const tested = await account.client.webhooks.test({ params, body: {} });
  const again = await account.client.webhooks.deliveries.redeliver({
    params: { ...params, delivery_id: first.id },
    body: {},
  });
  expect([tested.status, again.status, replay.matched]).toEqual(['pending', 'pending', 1]);
  await emitContactCreated(account);
  await waitFor('the other deliveries', () => others().length === 2);
  const replayOf = () => account.client.webhooks.replays.get({ params: { ...params, replay_id: replay.id } });
  expect(await replayOf()).toMatchObject({ status: 'running', done: 0 });
  expect(received()).toHaveLength(1);
  await change(account, endpoint, { paused: false });
  await waitFor('the replay to end', async () => (await replayOf()).status === 'completed');
  await waitFor('all to be delivered', async () =>
    (await statuses(account, endpoint)).every(([status]) => status === 'delivered'),
  );
  expect(received().length).toBeGreaterThanOrEqual(4);
});

it('yields to disabling: pending deliveries end, and the endpoint is still paused once enabled', async () => {
  const { account, endpoint, received, others } = await openPaused();
  await emitContactCreated(account);
  await waitFor('the delivery', async () => (await deliveriesTo(account, endpoint.id)).length === 1);
  expect(await change(account, endpoint, { active: false })).toMatchObject({ active: false, paused: true });
  await waitFor('its end', async () => (await statuses(account, endpoint))[0]![0] === 'failed');
  expect(await statuses(account, endpoint)).toEqual([['failed', 'endpoint_disabled']]);
  expect(await change(account, endpoint, { active: true })).toMatchObject({ active: true, paused: true });
  await emitContactCreated(account);
  await waitFor('the other deliveries', () => others().length === 2);
  expect((await statuses(account, endpoint))[0]).toEqual(['pending', null]);
  expect(received()).toEqual([]);
});

it('ends pending deliveries when it is deleted', async () => {
  const { account, endpoint } = await openPaused();
  const sql = platform.database('webhooks');
  await emitContactCreated(account);
  await waitFor('the delivery', async () => (await deliveriesTo(account, endpoint.id)).length === 1);
  // More than the request itself ends.
  await sql`
    insert into deliveries (account_id, endpoint_id, event_id, event, url, status, next_try_at, created_at)
    select account_id, endpoint_id, event_id, event, url, status, next_try_at, created_at
    from deliveries, generate_series(1, 1500) where endpoint_id = ${endpoint.id}`;
  await account.client.webhooks.delete({ params: { endpoint_id: endpoint.id } });
  await waitFor('their end', async () => {
    const pending = await sql`select from deliveries where endpoint_id = ${endpoint.id} and status = 'pending'`;
    return pending.length === 0;
  });
});

it('lets an attempt in flight end; its delivery then waits for the next one', async () => {
  const { account, endpoint, received, others } = await openPaused();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const { respond } = receiver;
  receiver.respond = (request, response) => {
    if (request.path === new URL(endpoint.url).pathname) void mayEnd.then(() => response.writeHead(500).end());
    else respond(request, response);
  };
  try {
    await change(account, endpoint, { paused: false });
    await emitContactCreated(account);
    await waitFor('an attempt', () => received().length === 1);
    await change(account, endpoint, { paused: true });
    end();
    await waitFor('its record', async () => (await deliveriesTo(account, endpoint.id))[0]!.tries.length === 1);
    platform.clock.advance(60_000);
    for (let index = 0; index < 3; index++) await emitContactCreated(account);
    await waitFor('the other deliveries', () => others().length === 4);
    expect(received()).toHaveLength(1);
  } finally {
    receiver.respond = respond;
  }
  await change(account, endpoint, { paused: false });
  await waitFor('all to be delivered', async () =>
    (await statuses(account, endpoint)).every(([status]) => status === 'delivered'),
  );
});
