import { type Platform, type Receiver, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deliveriesTo,
  delivery,
  type EndpointResponse,
  emitContactCreated,
  hasTries,
  openEndpoint,
  slackMs,
  waitMs,
} from '../../test/webhooks.ts';
import { insertReplay } from './replays.sql.ts';

let platform: Platform;
const receivers: Receiver[] = [];

beforeAll(async () => {
  const env = { WEBHOOKS_RETRY_SCHEDULE: '0,10s,1h' };
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env });
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

const respondingEndpoint = (...response: EndpointResponse) => openEndpoint(platform, receivers, response);

describe('replaying', () => {
  it('sends failed and skipped deliveries again, and with `all` delivered ones too', async () => {
    const { account, endpoint, params, receiver } = await respondingEndpoint(200);
    await emitContactCreated(account, 'Delivered');
    await delivery(account, endpoint.id);
    await account.client.webhooks.update({ params, body: { active: false } });
    for (const name of ['One', 'Two']) await emitContactCreated(account, name);
    await waitFor('both to be skipped', async () => (await deliveriesTo(account, endpoint.id)).length === 3);
    const since = '2020-01-01T00:00:00Z';
    const off = await account.request('POST', `/v1/webhooks/${endpoint.id}/replay`, { body: { since } });
    expect([off.status, off.body.error.code]).toEqual([409, 'invalid_state']);
    await account.client.webhooks.update({ params, body: { active: true } });

    const failed = await account.client.webhooks.replay({ params, body: { since } });
    expect(failed.matched).toBe(2);
    const replay = { params: { ...params, replay_id: failed.id } };
    await waitFor('the replay', async () => (await account.client.webhooks.replays.get(replay)).status === 'completed');
    expect(await account.client.webhooks.replays.get(replay)).toEqual({
      id: failed.id,
      status: 'completed',
      matched: 2,
      done: 2,
    });
    await waitFor('three requests', () => receiver.received.length === 3);
    await waitFor('all to be delivered', async () => {
      return (await deliveriesTo(account, endpoint.id)).every((one) => one.status === 'delivered');
    });

    const all = await account.client.webhooks.replay({ params, body: { since, status: 'all' } });
    expect(all.matched).toBe(3);
    await waitFor('six requests', () => receiver.received.length === 6);
    const none = await account.client.webhooks.replay({ params, body: { since, until: '2020-01-02T00:00:00Z' } });
    expect(none.matched).toBe(0);
    const empty = await account.client.webhooks.replays.get({ params: { ...params, replay_id: none.id } });
    expect(empty).toMatchObject({ status: 'completed', matched: 0, done: 0 });
  });

  it('sends deliveries that wait for another attempt at once and restarts their schedule', async () => {
    const { account, endpoint, params, receiver, respondWith } = await respondingEndpoint(500);
    await emitContactCreated(account, 'Waits');
    await delivery(account, endpoint.id, hasTries(1));
    platform.clock.advance(12_000);
    const waiting = await delivery(account, endpoint.id, hasTries(2));
    expect([waiting.status, waitMs(waiting) >= 3_600_000 - 1]).toEqual(['pending', true]);
    const { id, matched } = await account.client.webhooks.replay({ params, body: { since: '2020-01-01T00:00:00Z' } });
    expect(matched).toBe(1);
    const again = await delivery(account, endpoint.id, hasTries(3));
    expect([again.status, again.tries.at(-1)!.trigger]).toEqual(['pending', 'manual']);
    expect(waitMs(again)).toBeLessThan(11_000 + slackMs);
    const replay = { params: { ...params, replay_id: id } };
    expect(
      await waitFor('the replay', async () => {
        const found = await account.client.webhooks.replays.get(replay);
        return found.status === 'completed' && found;
      }),
    ).toEqual({ id, status: 'completed', matched: 1, done: 1 });
    respondWith(204);
    platform.clock.advance(12_000);
    expect((await delivery(account, endpoint.id)).status).toBe('delivered');
    expect(receiver.received).toHaveLength(4);
  });

  it('with `all` counts deliveries that wait for their first attempt, and sends them once', async () => {
    const { account, endpoint, params, receiver } = await respondingEndpoint(200);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.respond = (_, response) => void released.then(() => response.writeHead(204).end());
    await emitContactCreated(account, 'Under way');
    await receiver.next();
    await emitContactCreated(account, 'Waits');
    await waitFor('both', async () => (await deliveriesTo(account, endpoint.id)).length === 2);
    const since = '2020-01-01T00:00:00Z';
    expect(await account.client.webhooks.replay({ params, body: { since } })).toMatchObject({ matched: 0 });
    const all = await account.client.webhooks.replay({ params, body: { since, status: 'all' } });
    expect(all.matched).toBe(2);
    const replay = { params: { ...params, replay_id: all.id } };
    await waitFor('the replay', async () => (await account.client.webhooks.replays.get(replay)).status === 'completed');
    expect(await account.client.webhooks.replays.get(replay)).toMatchObject({ matched: 2, done: 2 });
    release();
    const over = await waitFor('both to be delivered', async () => {
      const found = await deliveriesTo(account, endpoint.id);
      return found.every((one) => one.status === 'delivered') && found;
    });
    expect([over.map((one) => one.tries.length), receiver.received.length]).toEqual([[1, 1], 2]);
  });

  it('many deliveries continues until all are sent', async () => {
    const { account, endpoint, params, receiver } = await respondingEndpoint(200);
    await account.client.webhooks.update({ params, body: { active: false } });
    for (let made = 0; made < 250; made += 50) {
      await Promise.all(Array.from({ length: 50 }, () => emitContactCreated(account)));
    }
    const sql = platform.database('webhooks');
    await waitFor('all to be skipped', async () => {
      const skipped = await sql`select from deliveries where endpoint_id = ${endpoint.id} and status = 'skipped'`;
      return skipped.length === 250;
    });
    // Within one millisecond, because a replay's cursor has the database's full precision.
    await sql`
      update deliveries set created_at = date_trunc('second', now()) - interval '1 day' + (random() * 999)::int * interval '1 microsecond'
      where endpoint_id = ${endpoint.id}`;
    await account.client.webhooks.update({ params, body: { active: true } });
    const { id, matched } = await account.client.webhooks.replay({ params, body: { since: '2020-01-01T00:00:00Z' } });
    expect(matched).toBe(250);
    const idsOf = () => new Set(receiver.received.map((request) => request.headers['webhook-id']));
    await waitFor('every event to come', () => idsOf().size === 250, 30_000);
    await waitFor('the replay to be done', async () => {
      const replay = await account.client.webhooks.replays.get({ params: { ...params, replay_id: id } });
      return replay.status === 'completed' && replay.done === 250;
    });
    expect(receiver.received).toHaveLength(250);

    const all = await account.client.webhooks.replay({
      params,
      body: { since: '2020-01-01T00:00:00Z', status: 'all' },
    });
    await waitFor('the replay of all', async () => {
      const replay = await account.client.webhooks.replays.get({ params: { ...params, replay_id: all.id } });
      return replay.status === 'completed' && replay.done === 250;
    });
    await waitFor('every event again', () => receiver.received.length >= 500, 30_000);
    await waitFor('all to be delivered', async () => {
      const pending = await sql`select from deliveries where endpoint_id = ${endpoint.id} and status = 'pending'`;
      return pending.length === 0;
    });
    expect(receiver.received).toHaveLength(500);
  }, 90_000);

  it('that overlaps another replay completes when all its deliveries are in flight', async () => {
    const { account, endpoint, params } = await respondingEndpoint(200);
    await emitContactCreated(account);
    await delivery(account, endpoint.id);
    const body = { since: '2020-01-01T00:00:00Z', status: 'all' as const };
    const replays = await Promise.all([1, 2, 3].map(() => account.client.webhooks.replay({ params, body })));
    const over = await waitFor('all replays', async () => {
      const found = await Promise.all(
        replays.map(({ id }) => account.client.webhooks.replays.get({ params: { ...params, replay_id: id } })),
      );
      return found.every((one) => one.status === 'completed') ? found : undefined;
    });
    for (const one of over) expect(one.done).toBe(one.matched);
  });

  it('fails if the endpoint is disabled when its turn comes', async () => {
    const { account, endpoint, params, receiver } = await respondingEndpoint(200);
    await emitContactCreated(account);
    await delivery(account, endpoint.id);
    await account.client.webhooks.update({ params, body: { active: false } });
    const sql = platform.database('webhooks');
    const now = platform.clock.now();
    const period = { since: new Date(0), until: now, includes_delivered: true, matched: 1 };
    const { id } = await insertReplay(sql, { account_id: account.id, endpoint_id: endpoint.id, ...period }, now);
    const replay = { params: { ...params, replay_id: id } };
    await waitFor(
      'the replay to fail',
      async () => (await account.client.webhooks.replays.get(replay)).status === 'failed',
    );
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    ['since', {}],
    ['since', { since: '2026-01-01T00:00:00' }],
    ['since', { since: '2199-01-01T00:00:00Z' }],
    ['until', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }],
    ['status', { since: '2026-01-01T00:00:00Z', status: 'delivered' }],
  ])('a wrong %s is refused by name', async (field, body) => {
    const { account, endpoint } = await respondingEndpoint(200);
    const response = await account.request('POST', `/v1/webhooks/${endpoint.id}/replay`, { body });
    expect([response.status, response.body.error.field]).toEqual([400, field]);
  });
});
