import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { inTransaction } from '@customer-platform/service-kit';
import {
  type Platform,
  pagesOf,
  type Receiver,
  startPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deliveriesTo,
  delivery,
  type EndpointResponse,
  earnCap,
  emitContactCreated,
  hasTries,
  openEndpoint,
  register,
  slackMs,
  waitMs,
} from '../../test/webhooks.ts';

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

describe('a delivery', () => {
  it('shows the event, its payload, the response and the attempt', async () => {
    const { account, receiver, endpoint } = await respondingEndpoint(200, {}, '{"ok":true}');
    const contact = await emitContactCreated(account);
    const request = await receiver.next();
    const done = await delivery(account, endpoint.id);
    expect(done).toEqual({
      id: expect.any(String),
      event: 'contact.created',
      event_id: request.headers['webhook-id'],
      status: 'delivered',
      reason: null,
      url: receiver.url,
      payload: JSON.parse(request.body),
      response: { status: 200, body: '{"ok":true}', duration_ms: expect.any(Number) },
      tries: [
        {
          number: 1,
          at: expect.stringMatching(/\+0[12]:00$/),
          status: 200,
          error: null,
          duration_ms: expect.any(Number),
          trigger: 'scheduled',
        },
      ],
      next_try_at: null,
      created_at: expect.stringMatching(/\+0[12]:00$/),
    });
    expect(done.payload.data).toEqual({ contact });
    expect(request.headers).toMatchObject({ 'content-type': 'application/json' });
    const params = { endpoint_id: endpoint.id, delivery_id: done.id };
    expect(await account.client.webhooks.deliveries.get({ params })).toEqual(done);
  });

  it('is not found through another endpoint or by another account', async () => {
    const { account, endpoint, receiver } = await respondingEndpoint(200);
    const other = await register(account, receiver.url, { events: ['deal.won'] });
    await emitContactCreated(account);
    const { id } = await delivery(account, endpoint.id);
    const stranger = await platform.account();
    for (const [asker, endpointId] of [
      [account, other.id],
      [stranger, endpoint.id],
    ] as const) {
      const path = `/v1/webhooks/${endpointId}/deliveries/${id}`;
      expect((await asker.request('GET', path)).status).toBe(404);
      expect((await asker.request('POST', `${path}/redeliver`, { body: {} })).status).toBe(404);
    }
  });
});

describe('the list of an endpoint', () => {
  it('is newest first, filters by status and kind, and refuses an unknown cursor', async () => {
    const { account, endpoint, params, respondWith } = await respondingEndpoint(204);
    const contact = await emitContactCreated(account);
    await delivery(account, endpoint.id);
    respondWith(500);
    await account.client.cdp.contacts.update({ params: { contact_id: contact.id }, body: { name: 'Two' } });
    await delivery(account, endpoint.id, (one) => one.tries.length === 1 && one.status === 'pending');
    await account.client.cdp.contacts.update({ params: { contact_id: contact.id }, body: { name: 'Three' } });
    const all = await waitFor('three deliveries', async () => {
      const found = await deliveriesTo(account, endpoint.id);
      return found.length === 3 && found[0]!.tries.length === 1 ? found : undefined;
    });
    expect(all.map((one) => one.event)).toEqual(['contact.updated', 'contact.updated', 'contact.created']);
    const idsOf = async (query: object) =>
      (await account.client.webhooks.deliveries.list({ params, query })).data.map((one) => one.id);
    const ids = all.map((one) => one.id);
    expect(await idsOf({ status: 'pending' })).toEqual(ids.slice(0, 2));
    expect(await idsOf({ status: 'delivered' })).toEqual(ids.slice(2));
    expect(await idsOf({ event: 'contact.created' })).toEqual(ids.slice(2));
    expect(await idsOf({ event: 'contact.updated', status: 'delivered' })).toEqual([]);
    expect(await idsOf({ limit: 1, starting_after: ids[0] })).toEqual([ids[1]]);
    expect(await idsOf({ status: 'pending', starting_after: ids[0] })).toEqual([ids[1]]);
    for (const query of [
      'starting_after=x',
      `starting_after=${crypto.randomUUID()}`,
      'limit=0',
      'limit=101',
      'status=lost',
    ]) {
      const { status, body } = await account.request('GET', `/v1/webhooks/${endpoint.id}/deliveries?${query}`);
      expect([status, body.error.field]).toEqual([400, query.split('=')[0]]);
    }
  });
});

describe('deliveries of large events', () => {
  it('shorten pages, and the pages contain them all', async () => {
    const { account, endpoint, params } = await respondingEndpoint(200);
    const { id } = await account.client.webhooks.test({ params });
    await delivery(account, endpoint.id);
    await platform.database('webhooks')`
      with event as (
        insert into events (account_id, id, type, envelope, matched, taken_at)
        select account_id, uuidv7(), type, jsonb_set(envelope::jsonb, '{data}', jsonb_build_object('text', repeat('x', 600000)))::text,
          1, taken_at
        from events cross join generate_series(1, 8) where account_id = ${account.id} returning *
      )
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, created_at)
      select account_id, ${endpoint.id}, id, type, '', 'delivered', taken_at - interval '1 hour' from event`;
    const { data, sizes } = await pagesOf((query) => account.client.webhooks.deliveries.list({ params, query }));
    expect([data[0]!.id, new Set(data.map((one) => one.id)).size, data.length]).toEqual([id, 9, 9]);
    expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
    expect(sizes.length).toBe(3);
  });
});

describe('a delivery with very many attempts', () => {
  it('shows the last hundred alone, in the list and when redelivered', async () => {
    const { account, endpoint, params } = await respondingEndpoint(200);
    const sent = await account.client.webhooks.test({ params });
    await delivery(account, endpoint.id);
    const sql = platform.database('webhooks');
    await sql`
      with more as (
        insert into tries (account_id, delivery_id, number, at, status, duration_ms, is_manual)
        select account_id, delivery_id, more, at, 204, 1, true from tries cross join generate_series(2, 150) as more
        where account_id = ${account.id} and delivery_id = ${sent.id}
      )
      update deliveries set tries_made = 150 where account_id = ${account.id} and id = ${sent.id}`;
    const one = { params: { ...params, delivery_id: sent.id } };
    const numbers = Array.from({ length: 100 }, (_, index) => index + 51);
    const numbersOf = ({ tries }: { tries: { number: number }[] }) => tries.map(({ number }) => number);
    expect(numbersOf(await account.client.webhooks.deliveries.get(one))).toEqual(numbers);
    expect(numbersOf((await deliveriesTo(account, endpoint.id))[0]!)).toEqual(numbers);
    expect(numbersOf(await account.client.webhooks.deliveries.redeliver(one))).toEqual(numbers);
    const again = await delivery(account, endpoint.id, (shown) => shown.tries.at(-1)!.number === 151);
    expect(again.tries).toHaveLength(100);
  });
});

describe('a failed attempt', () => {
  it('is followed by attempts after 10 s and 1 h, up to a tenth later, and then the delivery is exhausted', async () => {
    const { account, endpoint, respondWith } = await respondingEndpoint(500, {}, 'no');
    await emitContactCreated(account);
    const first = await delivery(account, endpoint.id, hasTries(1));
    expect(first).toMatchObject({ status: 'pending', reason: null, response: { status: 500, body: 'no' } });
    expect(waitMs(first)).toBeGreaterThanOrEqual(10_000 - 1);
    expect(waitMs(first)).toBeLessThan(11_000 + slackMs);
    platform.clock.advance(12_000);
    const second = await delivery(account, endpoint.id, hasTries(2));
    expect(waitMs(second)).toBeGreaterThanOrEqual(3_600_000 - 1);
    expect(waitMs(second)).toBeLessThan(3_960_000 + slackMs);
    respondWith(302);
    platform.clock.advance(3_970_000);
    const third = await delivery(account, endpoint.id, hasTries(3));
    expect(third).toMatchObject({ status: 'failed', reason: 'exhausted', next_try_at: null });
    expect(third.tries.map((made) => [made.number, made.status, made.trigger])).toEqual([
      [1, 500, 'scheduled'],
      [2, 500, 'scheduled'],
      [3, 302, 'scheduled'],
    ]);
  });

  it('keeps the id and changes the timestamp in the next attempt', async () => {
    const { account, endpoint, receiver, respondWith } = await respondingEndpoint(500);
    await emitContactCreated(account);
    const first = await receiver.next();
    // The next attempt's wait counts from the end of this one, so the clock moves only afterwards.
    await delivery(account, endpoint.id, hasTries(1));
    respondWith(204);
    platform.clock.advance(12_000);
    const second = await receiver.next((request) => request !== first);
    expect(second.body).toBe(first.body);
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(Number(first.headers['webhook-timestamp']));
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature']);
  });

  it('waits at least as long as Retry-After', async () => {
    const { account, endpoint } = await respondingEndpoint(503, { 'retry-after': '600' });
    await emitContactCreated(account);
    const failed = await delivery(account, endpoint.id, hasTries(1));
    expect(waitMs(failed)).toBeGreaterThanOrEqual(600_000 - 1);
    expect(waitMs(failed)).toBeLessThan(600_000 + slackMs);
  });

  it('names its cause', async () => {
    const account = await platform.account();
    const receiver = await startReceiver();
    receivers.push(receiver);
    const bye = createServer((socket) => socket.resume().end('220 mail.example ESMTP\r\n')).listen(0, '127.0.0.1');
    await new Promise((done) => bye.once('listening', done));
    receiver.respond = ({ path }, response) => {
      if (path === '/large') response.end('x'.repeat(64 * 1024 + 1));
    };
    const urls = {
      too_large: `${receiver.url}/large`,
      tls: receiver.url.replace('http:', 'https:'),
      http: `http://127.0.0.1:${(bye.address() as { port: number }).port}/`,
      refused: 'http://127.0.0.1:1/',
    };
    for (const [error, url] of Object.entries(urls)) {
      const endpoint = await register(account, url);
      await account.client.webhooks.test({ params: { endpoint_id: endpoint.id } });
      const failed = await delivery(account, endpoint.id, hasTries(1));
      expect([url, failed.status, failed.tries[0]!.error]).toEqual([url, 'pending', error]);
    }
    await new Promise((done) => bye.close(done));
  });
});

describe('an endpoint is disabled', () => {
  it('by a 410 response: its other deliveries fail, and other endpoints are notified', async () => {
    const { account, endpoint, params, receiver, respondWith } = await respondingEndpoint(500);
    const other = await startReceiver();
    receivers.push(other);
    await emitContactCreated(account, 'Waits');
    await delivery(account, endpoint.id, hasTries(1));
    respondWith(410);
    await register(account, other.url, { events: ['webhook.disabled'] });
    await emitContactCreated(account, 'Gone');
    const told = JSON.parse((await other.next()).body);
    const disabled = await account.client.webhooks.get({ params });
    expect(disabled).toMatchObject({ active: false, disabled_reason: 'The endpoint responded with 410 Gone.' });
    expect(told).toMatchObject({
      type: 'webhook.disabled',
      data: { webhook: disabled, previous: { active: true, disabled_reason: null } },
    });
    const all = await waitFor('every delivery to end', async () => {
      const found = await deliveriesTo(account, endpoint.id);
      return found.length === 3 && found.every((one) => one.status !== 'pending') ? found : undefined;
    });
    expect(all.map((one) => [one.event, one.status, one.reason])).toEqual([
      ['webhook.disabled', 'skipped', 'endpoint_disabled'],
      ['contact.created', 'failed', 'endpoint_disabled'],
      ['contact.created', 'failed', 'endpoint_disabled'],
    ]);
    const requests = receiver.received.length;
    await emitContactCreated(account, 'Skipped');
    await delivery(account, endpoint.id, (one) => one.status === 'skipped' && one.event === 'contact.created');
    expect(receiver.received).toHaveLength(requests);
  });

  it('and enabled at once: other endpoints receive its disabled state', async () => {
    const { account, params } = await respondingEndpoint(410);
    await emitContactCreated(account);
    await waitFor('the endpoint to be disabled', async () => !(await account.client.webhooks.get({ params })).active);
    const on = await account.client.webhooks.update({ params, body: { active: true } });
    const told = await platform.event(account.id, 'webhook.disabled');
    const reason = 'The endpoint responded with 410 Gone.';
    expect(told.data.webhook).toEqual({
      ...on,
      active: false,
      disabled_reason: reason,
      updated_at: expect.any(String),
    });
  });

  it('not by a 410 from its previous URL', async () => {
    const { account, endpoint, params, receiver } = await respondingEndpoint(200);
    const next = await startReceiver();
    receivers.push(next);
    await earnCap(account, endpoint.id);
    const { promise: moved, resolve: goOn } = Promise.withResolvers<void>();
    receiver.respond = (_, response) => void moved.then(() => response.writeHead(410).end());
    await emitContactCreated(account);
    await waitFor('the attempt in flight', () => receiver.received.length === 5);
    await account.client.webhooks.update({ params, body: { url: next.url } });
    await account.client.webhooks.test({ params });
    await next.next();
    goOn();
    const failed = await delivery(account, endpoint.id, (one) => one.tries.at(-1)?.status === 410);
    expect(failed).toMatchObject({ status: 'pending', tries: [{ status: 410 }] });
    expect(await account.client.webhooks.get({ params })).toMatchObject({ active: true, url: next.url });
  });

  it('not by a failure after a pause of days without attempts', async () => {
    const { account, endpoint, params } = await respondingEndpoint(500);
    await emitContactCreated(account, 'First');
    await delivery(account, endpoint.id, hasTries(1));
    await account.client.webhooks.update({ params, body: { paused: true } });
    platform.clock.advance(6 * 86_400_000);
    await account.client.webhooks.update({ params, body: { paused: false } });
    await account.client.webhooks.test({ params });
    expect(await delivery(account, endpoint.id, hasTries(2))).toMatchObject({ status: 'pending' });
    const tested = await delivery(account, endpoint.id, (one) => one.event === 'webhook.test' && one.tries.length > 0);
    expect(tested.tries[0]).toMatchObject({ status: 500 });
    expect(await account.client.webhooks.get({ params })).toMatchObject({ active: true, disabled_reason: null });
  });

  it('by failing for five days without a success, not by a failure after a success', async () => {
    const { account, endpoint, params, respondWith } = await respondingEndpoint(500);
    await emitContactCreated(account, 'First');
    await delivery(account, endpoint.id, hasTries(1));
    platform.clock.advance(4.9 * 86_400_000);
    await delivery(account, endpoint.id, hasTries(2));
    expect((await account.client.webhooks.get({ params })).active).toBe(true);
    platform.clock.advance(0.2 * 86_400_000);
    await waitFor('the endpoint to be disabled', async () => !(await account.client.webhooks.get({ params })).active);
    const off = await account.client.webhooks.get({ params });
    expect(off.disabled_reason).toBe('Every delivery to the endpoint failed for 5 days.');
    await platform.event(account.id, 'webhook.disabled');

    const on = await account.client.webhooks.update({ params, body: { active: true } });
    expect([on.active, on.disabled_reason]).toEqual([true, null]);
    respondWith(200);
    const sent = await account.client.webhooks.test({ params });
    await delivery(account, endpoint.id, (one) => one.id === sent.id && one.status === 'delivered');
    platform.clock.advance(6 * 86_400_000);
    respondWith(500);
    const failing = await account.client.webhooks.test({ params });
    await delivery(account, endpoint.id, (one) => one.id === failing.id && one.tries.length === 1);
    expect((await account.client.webhooks.get({ params })).active).toBe(true);
  });

  it('not by a failure after a success that is not yet written', async () => {
    const { account, endpoint, params, respondWith, receiver } = await respondingEndpoint(200);
    await earnCap(account, endpoint.id);
    respondWith(500);
    await emitContactCreated(account, 'First');
    await delivery(account, endpoint.id, (one) => one.tries.at(-1)?.status === 500);
    const underWay: ServerResponse[] = [];
    receiver.respond = (_, response) => underWay.push(response);
    platform.clock.advance(5.1 * 86_400_000);
    await waitFor('its second attempt', () => underWay.length === 1);
    const sent = await account.client.webhooks.test({ params });
    await waitFor('the attempt of another delivery', () => underWay.length === 2);
    /** Resolves once both sides have closed the connection. */
    const respond = async (response: ServerResponse, status: number) => {
      const closed = once(response.socket!, 'close');
      response.writeHead(status, { connection: 'close' }).end();
      await closed;
    };
    await inTransaction(platform.database('webhooks'), async (tx) => {
      await tx`select from endpoints where id = ${endpoint.id} for update`;
      await respond(underWay[0]!, 200);
      await respond(underWay[1]!, 500);
    });
    await delivery(account, endpoint.id, (one) => one.id === sent.id && one.tries.length === 1);
    expect(await account.client.webhooks.get({ params })).toMatchObject({ active: true, disabled_reason: null });
  });

  it('by its owner: pending deliveries fail as endpoint_disabled', async () => {
    const { account, endpoint, params } = await respondingEndpoint(500);
    await emitContactCreated(account);
    await delivery(account, endpoint.id, hasTries(1));
    await account.client.webhooks.update({ params, body: { active: false } });
    const ended = await delivery(account, endpoint.id);
    expect([ended.status, ended.reason, ended.next_try_at]).toEqual(['failed', 'endpoint_disabled', null]);
    expect((await account.client.webhooks.get({ params })).disabled_reason).toBeNull();
  });
});

/** An endpoint with a delivery that was redelivered during its attempt. The attempt gets `status` once `goOn` is called. */
async function redeliveredDuringAttempt(status: number) {
  const responding = await respondingEndpoint(200);
  const { account, endpoint, params, receiver } = responding;
  const { promise: asked, resolve: goOn } = Promise.withResolvers<void>();
  receiver.respond = (_, response) => void asked.then(() => response.writeHead(status).end());
  await emitContactCreated(account);
  await receiver.next();
  const pending = await delivery(account, endpoint.id, (one) => one.status === 'pending');
  await account.client.webhooks.deliveries.redeliver({ params: { ...params, delivery_id: pending.id } });
  return { ...responding, pending, goOn };
}

describe('redelivering', () => {
  it.each([200, 500])('during an attempt that responds with %s leads to another attempt', async (status) => {
    const { account, receiver, endpoint, params } = await respondingEndpoint(status);
    const held: (() => void)[] = [];
    receiver.respond = (_, response) => held.push(() => response.writeHead(status).end());
    const sent = await account.client.webhooks.test({ params });
    await waitFor('the first attempt to be in flight', () => held.length === 1);
    for (let asked = 0; asked < 3; asked++) {
      await account.client.webhooks.deliveries.redeliver({ params: { ...params, delivery_id: sent.id } });
    }
    // A look that skips the delivery because it is in flight must not lose it.
    await account.client.webhooks.deliveries.list({ params });
    receiver.respond = (_, response) => response.writeHead(200).end();
    held[0]!();
    await waitFor('the redelivery', () => receiver.received.length >= 2);
    const done = await delivery(account, endpoint.id);
    expect(done).toMatchObject({ id: sent.id, status: 'delivered' });
    expect(done.tries.at(-1)).toMatchObject({ status: 200, trigger: 'manual' });
  });

  it('makes a manual attempt in any state and restarts the schedule', async () => {
    const { account, endpoint, params, respondWith, receiver } = await respondingEndpoint(200);
    await emitContactCreated(account);
    const delivered = await delivery(account, endpoint.id);
    respondWith(500);
    const again = { params: { ...params, delivery_id: delivered.id } };
    expect(await account.client.webhooks.deliveries.redeliver(again)).toMatchObject({
      id: delivered.id,
      status: 'pending',
      reason: null,
    });
    const failed = await delivery(account, endpoint.id, hasTries(2));
    expect([failed.status, failed.tries.map((made) => made.trigger)]).toEqual(['pending', ['scheduled', 'manual']]);
    respondWith(200);
    platform.clock.advance(12_000);
    const done = await delivery(account, endpoint.id, hasTries(3));
    expect([done.status, done.tries.at(-1)]).toMatchObject(['delivered', { number: 3, trigger: 'scheduled' }]);
    expect(new Set(receiver.received.map((request) => request.headers['webhook-id'])).size).toBe(1);
  });

  it('a skipped delivery returns 409 until the endpoint is enabled', async () => {
    const { account, endpoint, params } = await respondingEndpoint(200);
    await account.client.webhooks.update({ params, body: { active: false } });
    await emitContactCreated(account);
    const skipped = await delivery(account, endpoint.id);
    const path = `/v1/webhooks/${endpoint.id}/deliveries/${skipped.id}/redeliver`;
    const refused = await account.request('POST', path, { body: {} });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'invalid_state']);
    await account.client.webhooks.update({ params, body: { active: true } });
    expect((await account.request('POST', path, { body: {} })).status).toBe(202);
    expect(await delivery(account, endpoint.id)).toMatchObject({ status: 'delivered', reason: null });
  });

  it('during an attempt leads to another one', async () => {
    const { account, endpoint, receiver, goOn } = await redeliveredDuringAttempt(500);
    receiver.respond = (_, response) => response.writeHead(204).end();
    goOn();
    const done = await delivery(account, endpoint.id, (one) => one.status === 'delivered');
    expect(done.tries.map((made) => [made.status, made.trigger])).toEqual([
      [500, 'scheduled'],
      [204, 'manual'],
    ]);
  });

  it('during an attempt leads to another one even if its queue is read while the outcome is written', async () => {
    const { account, endpoint, pending, goOn } = await redeliveredDuringAttempt(200);
    const sql = platform.database('webhooks');
    await inTransaction(sql, async (tx) => {
      // Blocks a read of the queue, which already knows the deliveries in flight, but not the write of the outcome.
      await tx`lock table events in access exclusive mode`;
      await sql`update queues set version = version + 1 where endpoint_id = ${endpoint.id}`;
      await waitFor('a read of the queue', async () => {
        return (await sql`select from pg_locks where relation = 'events'::regclass and not granted`).length > 0;
      });
      goOn();
      await waitFor(
        'the outcome',
        async () => (await sql`select from tries where delivery_id = ${pending.id}`).length > 0,
      );
    });
    const done = await delivery(account, endpoint.id, hasTries(2));
    expect([done.status, done.tries.map((made) => made.trigger)]).toEqual(['delivered', ['scheduled', 'manual']]);
  });

  it('repeatedly while attempts fail causes no deadlock', async () => {
    const { account, params, receiver } = await respondingEndpoint(200);
    const sent = await account.client.webhooks.test({ params });
    await receiver.stop();
    const path = `/v1/webhooks/${params.endpoint_id}/deliveries/${sent.id}/redeliver`;
    const statuses = new Set<number>();
    for (let count = 0; count < 300; count++) {
      statuses.add((await account.request('POST', path, { body: {} })).status);
    }
    expect([...statuses]).toEqual([202]);
  }, 120_000);
});
