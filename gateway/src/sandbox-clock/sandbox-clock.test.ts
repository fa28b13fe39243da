import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const dayMs = 86_400_000;
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['calendar', 'webhooks'] });
});
afterAll(() => platform?.stop());

const path = '/v1/sandbox/clock';
const inDays = (days: number, from = Date.now()) => new Date(from + days * dayMs).toISOString();
const ofKey = (account: TestAccount) => ({
  get: (key = account.testKey) => account.request('GET', path, { key }),
  advance: (advance_to: unknown, { key = account.testKey, headers = {} } = {}) =>
    account.request('POST', path, { key, headers, body: { advance_to } }),
});
const ready = (account: TestAccount) =>
  waitFor(
    'the clock to be ready',
    async () => {
      const { body } = await ofKey(account).get();
      return body.status === 'ready' ? body : undefined;
    },
    30_000,
  );

/** Publishes a change of another account's contact. */
async function publishContact(bus: Bus, sequence: number): Promise<void> {
  const [id, type] = [randomUUIDv7(), 'contact.updated'];
  const contact = { id: randomUUID(), name: 'Ada', phone: null };
  const content = { id, type, timestamp: new Date().toISOString(), account: randomUUID(), mode: 'live' };
  const envelope = JSON.stringify({ ...content, data: { contact } });
  await bus.publish({ id, kind: type, audience: 'public', sequence, envelope, trace: undefined });
}

describe("a sandbox's clock", () => {
  it('is real time, in the zone of the account, until it is advanced, and continues from there', async () => {
    const account = await platform.account();
    const { get, advance } = ofKey(account);
    const before = await get();
    expect(before.status).toBe(200);
    expect(before.body).toEqual({ now: expect.stringMatching(/\+0[12]:00$/), status: 'ready', target: null });
    expect(Math.abs(Date.parse(before.body.now) - Date.now())).toBeLessThan(60_000);
    const target = inDays(40);
    const begun = await advance(target);
    expect(begun.status).toBe(202);
    expect(begun.body).toMatchObject({ status: 'advancing' });
    expect(Date.parse(begun.body.target)).toBe(Date.parse(target));
    const { now, ...rest } = await ready(account);
    expect(rest).toEqual({ status: 'ready', target: null });
    expect(Date.parse(now)).toBeGreaterThanOrEqual(Date.parse(target));
    expect(Date.parse(now)).toBeLessThan(Date.parse(target) + dayMs);
    const later = await get();
    expect(Date.parse(later.body.now)).toBeGreaterThan(Date.parse(now));
  });

  it('is also served at an escaped spelling of its path', async () => {
    const account = await platform.account();
    const { status } = await account.request('GET', '/v1/sandbox/cl%6fck', { key: account.testKey });
    expect(status).toBe(200);
  });

  it('determines all times of its account, and none of the live account', async () => {
    const account = await platform.account();
    const target = inDays(100);
    await ofKey(account).advance(target);
    await ready(account);
    const body = { url: 'http://127.0.0.1:9/hook', events: ['*'] };
    const test = await account.testClient.webhooks.create({ body });
    const live = await account.client.webhooks.create({ body });
    expect(Date.parse(test.created_at)).toBeGreaterThanOrEqual(Date.parse(target));
    expect(Date.parse(live.created_at)).toBeLessThan(Date.now() + dayMs);
  });

  it('is 404 for a live key', async () => {
    const account = await platform.account();
    const { get, advance } = ofKey(account);
    for (const response of [await get(account.key), await advance(inDays(1), { key: account.key })]) {
      expect([response.status, response.body.error.code]).toEqual([404, 'not_found']);
    }
  });

  it('may be read by any test key, but advanced only by one with every scope: else 403', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id, { mode: 'test', scopes: ['calendar:read'] });
    expect((await ofKey(account).get(key)).status).toBe(200);
    const response = await ofKey(account).advance(inDays(1), { key });
    expect([response.status, response.body.error.code]).toEqual([403, 'scope_missing']);
  });

  it('only moves forward, at most 366 days at once: else 400 names advance_to and the reason', async () => {
    const { advance } = ofKey(await platform.account());
    for (const wrong of [inDays(-1), inDays(0, Date.now() - 1), inDays(366.01), 'tomorrow', undefined, 5]) {
      const response = await advance(wrong);
      expect([response.status, response.body.error.field]).toEqual([400, 'advance_to']);
    }
    expect((await advance(inDays(365.99))).status).toBe(202);
  });

  it('accepts no other target while it is advancing: 409; of two at once only one begins', async () => {
    const account = await platform.account();
    const { advance } = ofKey(account);
    const responses = await Promise.all([advance(inDays(10)), advance(inDays(20))]);
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 409]);
    const refused = responses.find(({ status }) => status === 409);
    expect(refused!.body.error.code).toBe('invalid_state');
    await ready(account);
  });

  it('is advanced once by a repeated Idempotency-Key, however long ago it was by its own time', async () => {
    const account = await platform.account();
    const { advance } = ofKey(account);
    const headers = { 'idempotency-key': randomUUID() };
    const target = inDays(50);
    const first = await advance(target, { headers });
    const at = await ready(account);
    const again = await advance(target, { headers });
    expect([again.status, again.text]).toEqual([202, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const { now } = await ready(account);
    expect(Date.parse(now) - Date.parse(at.now)).toBeLessThan(dayMs);
  });

  it('advances while other accounts publish events without a break', async () => {
    const account = await platform.account();
    const { NATS_URL, BUS_PREFIX } = platform.env('calendar');
    const log = createLogger('test', 'silent');
    const bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'cdp', log });
    try {
      await ofKey(account).advance(inDays(3));
      // Consumers never reach the end of the stream.
      let status = 'advancing';
      for (let sequence = 1; status === 'advancing' && sequence <= 3_000; sequence++) {
        await publishContact(bus, sequence);
        ({ status } = (await ofKey(account).get()).body);
      }
      expect(status).toBe('ready');
    } finally {
      await bus.close();
    }
  }, 60_000);

  it('waits for a service that does not respond, and continues once it does', async () => {
    const account = await platform.account();
    const sql = platform.database('calendar');
    await sql`alter table sandbox_clocks rename to sandbox_clocks_gone`;
    try {
      await ofKey(account).advance(inDays(3));
      await waitFor(
        'a failed move',
        async () => {
          const [row] = await platform.database(
            'gateway' as never,
          )`select from clock_advances where last_error is not null`;
          return row;
        },
        20_000,
      );
      expect((await ofKey(account).get()).body.status).toBe('advancing');
    } finally {
      await sql`alter table sandbox_clocks_gone rename to sandbox_clocks`;
    }
    await ready(account);
  });
});
