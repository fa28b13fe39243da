import { randomUUID, randomUUIDv7 } from 'node:crypto';
import {
  enableAnyEndpoint,
  findAnyEndpoint,
  listAllEndpoints,
  replayAnyEndpoint,
} from '@customer-platform/contracts/webhooks';
import { type Bus, noAccount } from '@customer-platform/service-kit';
import {
  busOf,
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deliveriesTo, delivery, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let bus: Bus;
let receiver: Receiver;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_RETRY_SCHEDULE: '0,1h,1h' } });
  bus = await busOf(platform, 'gateway');
  receiver = await startReceiver();
}, 60_000);
afterAll(async () => {
  await bus?.close();
  await Promise.all([platform?.stop(), receiver?.stop()]);
});
beforeEach(async () => {
  account = await platform.account();
  receiver.respond = (_request, response) => response.writeHead(410).end();
});

const hourMs = 3_600_000;
const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms);
const list = async (filter: object) =>
  (await bus.ask(listAllEndpoints, noAccount, { limit: 100, ...filter }))?.endpoints ?? [];
const disabledSince = async (ms: number) => (await list({ disabled_since: ago(ms).toISOString() })).map(({ id }) => id);

describe('endpoints that the platform disabled', () => {
  it('are listed from a given time, without those that customers disabled', async () => {
    const [gone, off] = [await register(account, receiver.url), await register(account, receiver.url)];
    await account.client.updateEndpoint({ params: { endpoint_id: off.id }, body: { active: false } });
    await emitContactCreated(account);
    await delivery(account, gone.id);
    expect(await disabledSince(hourMs)).toEqual([gone.id]);
    platform.clock.advance(2 * hourMs);
    expect(await disabledSince(hourMs)).toEqual([]);
    expect(await disabledSince(3 * hourMs)).toEqual([gone.id]);
  });
});

describe('the failed deliveries of an endpoint', () => {
  it('are counted for an account if the last attempt was within a day, however long they took', async () => {
    receiver.respond = (_request, response) => response.writeHead(500).end();
    const { id } = await register(account, receiver.url);
    await emitContactCreated(account);
    const given = async () => (await list({ account: account.id })).map(({ failed_24h }) => failed_24h);
    for (let tries = 1; tries <= 3; tries++) {
      await delivery(account, id, (one) => one.tries.length === tries);
      expect(await given()).toEqual([tries === 3 ? 1 : 0]);
      if (tries < 3) platform.clock.advance(1.2 * hourMs);
    }
    expect((await list({ endpoint: id })).map(({ failed_24h }) => failed_24h)).toEqual([null]);
    platform.clock.advance(25 * hourMs);
    expect(await given()).toEqual([0]);
  });
});

describe('one endpoint', () => {
  it('is found for any account, with its last 50 deliveries, newest first', async () => {
    const { id } = await register(account, receiver.url, { active: false });
    const newest = ago(60_000);
    await platform.database('webhooks')`
      insert into deliveries (account_id, id, endpoint_id, event_id, event, url, status, reason, response_status, response_body, created_at)
      select ${account.id}, uuidv7(), ${id}, ${randomUUIDv7()}, 'deal.won', 'https://example.com', 'failed', 'exhausted', 503, repeat('ü', 600),
        ${newest}::timestamptz - n * interval '1 minute'
      from generate_series(0, 50) as n`;
    const found = await bus.ask(findAnyEndpoint, noAccount, { endpoint: id });
    expect(found!.endpoint).toMatchObject({ id, account: account.id, events: ['*'], description: '', active: false });
    expect(found!.deliveries).toHaveLength(50);
    expect(found!.deliveries[0]).toEqual({
      id: expect.any(String),
      event: 'deal.won',
      event_id: expect.any(String),
      status: 'failed',
      tries: 0,
      at: newest.toISOString(),
      response_status: 503,
      error: null,
      response: 'ü'.repeat(500),
      trace_id: null,
    });
    const times = found!.deliveries.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().reverse());
    expect(await bus.ask(findAnyEndpoint, noAccount, { endpoint: randomUUID() })).toBeNull();
  });

  it('that is disabled is enabled once, keeps its pause, and receives later events', async () => {
    const { id } = await register(account, receiver.url);
    await emitContactCreated(account);
    await delivery(account, id);
    await account.client.updateEndpoint({ params: { endpoint_id: id }, body: { paused: true } });
    const enable = (of = account.id) => bus.ask(enableAnyEndpoint, of, { endpoint: id });
    const stranger = await platform.account();
    expect(await enable(stranger.id)).toBeNull();
    receiver.respond = (_request, response) => response.writeHead(204).end();
    expect(await enable()).toEqual({ matched: 1, disabled_reason: 'The endpoint responded with 410 Gone.' });
    expect(await enable()).toEqual({ matched: 0, disabled_reason: null });
    const params = { endpoint_id: id };
    expect(await account.client.getEndpoint({ params })).toMatchObject({ active: true, paused: true });
    await emitContactCreated(account);
    await delivery(account, id, ({ status }) => status === 'pending');
    await account.client.updateEndpoint({ params, body: { paused: false } });
    await delivery(account, id, ({ status }) => status === 'delivered');
  });

  it('is replayed under the same rules as for its customer', async () => {
    const { id } = await register(account, receiver.url, { events: ['contact.created'] });
    await emitContactCreated(account);
    await delivery(account, id);
    const replay = (since: Date, of = account.id) =>
      bus.ask(replayAnyEndpoint, of, { endpoint: id, since: since.toISOString() });
    const message = 'The endpoint is disabled; set active to true first';
    expect(await replay(ago(hourMs))).toEqual({ matched: 0, refusal: { code: 'invalid_state', message, field: null } });
    await bus.ask(enableAnyEndpoint, account.id, { endpoint: id });
    expect(await replay(ago(-hourMs))).toMatchObject({ refusal: { code: 'invalid_request', field: 'since' } });
    expect(await replay(ago(hourMs), randomUUID())).toBeNull();
    receiver.respond = (_request, response) => response.writeHead(204).end();
    expect(await replay(ago(hourMs))).toEqual({ matched: 1, refusal: null });
    await delivery(account, id, ({ status }) => status === 'delivered');
    expect(await deliveriesTo(account, id)).toHaveLength(1);
  });
});
