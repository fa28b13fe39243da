import {
  type EventReader,
  type Platform,
  readStream,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../../test/raw-http.ts';
import { startGateway } from '../main.ts';

let platform: Platform;
const readers: EventReader[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});
afterAll(() => platform?.stop());

async function open(key: string, gatewayUrl = platform.gatewayUrl): Promise<EventReader> {
  const reader = await readStream(`${gatewayUrl}/v1/events/stream`, key);
  readers.push(reader);
  return reader;
}

const openMany = (key: string, count: number) => Promise.all(Array.from({ length: count }, () => open(key)));
const statusesOf = (all: readonly EventReader[]) => all.map(({ status }) => status).sort();

/** Returns the key's id. */
async function idOf(account: TestAccount): Promise<string> {
  const { body } = await platform.admin('GET', `/admin/accounts/${account.id}/keys`);
  return body.data.find((key: { mode: string }) => key.mode === 'live').id;
}

/** Starts another gateway of the same installation. */
const startAnother = () => startGateway({ ...platform.env('gateway'), GATEWAY_PORT: '0', ADMIN_PORT: '0' });

/** Sends an event through all streams, and waits until each has it. */
async function seenBy(account: TestAccount, all: readonly EventReader[]): Promise<void> {
  const counts = all.map(({ events }) => events.length);
  await account.client.cdp.contacts.create({ body: { name: 'Seen' } });
  await waitFor('the event in all streams', () => all.every(({ events }, index) => events.length > counts[index]!));
}

it.each(["'", '"', '<a>'])('a stream whose query contains %s is requested exactly as it was signed', async (types) => {
  const { key } = await platform.account();
  const { hostname, port } = new URL(platform.gatewayUrl);
  const head = [`GET /v1/events/stream?types=${types} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`];
  const { status, body } = await sendRaw(
    `http://${hostname}:${port}`,
    [...head, 'Connection: close', '', ''].join('\r\n'),
  );
  expect([status, body]).toEqual([400, expect.stringContaining('"field":"types"')]);
});

describe('the streams of a key', () => {
  it('are at most five: another is refused with Retry-After until one ends, and other keys have their own', async () => {
    const account = await platform.account();
    const four = await openMany(account.key, 4);
    const more = await openMany(account.key, 4);
    expect(statusesOf([...four, ...more])).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const refused = more.find(({ status }) => status === 429)!;
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    await waitFor('the refusal', () => refused.end);
    expect(JSON.parse(refused.body).error).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('5 streams'),
    });
    expect((await open(await platform.issueKey(account.id))).status).toBe(200);
    four[0]!.close();
    await waitFor('a place', async () => (await open(account.key)).status === 200);
    await seenBy(account, four.slice(1));
  });

  it('are counted across all gateways', async () => {
    const account = await platform.account();
    const another = await startAnother();
    try {
      await openMany(account.key, 3);
      const there = await Promise.all(Array.from({ length: 4 }, () => open(account.key, another.url)));
      expect(statusesOf(there)).toEqual([200, 200, 429, 429]);
    } finally {
      await another.stop();
    }
  });

  it('are a share of five at a gateway without Redis, even if they are opened at once', async () => {
    const account = await platform.account();
    const env = { ...platform.env('gateway'), GATEWAY_PORT: '0', ADMIN_PORT: '0', REDIS_URL: 'redis://127.0.0.1:1' };
    const another = await startGateway(env);
    try {
      const there = await Promise.all(Array.from({ length: 7 }, () => open(account.key, another.url)));
      const granted = there.filter(({ status }) => status === 200);
      expect(granted.length).toBeGreaterThanOrEqual(1);
      expect(granted.length).toBeLessThanOrEqual(5);
      await seenBy(account, granted);
      granted[0]!.close();
      await waitFor('a place', async () => (await open(account.key, another.url)).status === 200);
    } finally {
      await another.stop();
    }
  });
});

describe('a stream ends', () => {
  it.each<[string, (account: TestAccount) => Promise<unknown>]>([
    ['is revoked', async (account) => platform.admin('DELETE', `/admin/keys/${await idOf(account)}`)],
    [
      'belongs to an account that is suspended',
      (account) => platform.admin('PATCH', `/admin/accounts/${account.id}`, { status: 'suspended' }),
    ],
  ])('when its key %s, and others continue', async (_why, change) => {
    const [account, other] = [await platform.account(), await platform.account()];
    const [mine, others] = [await openMany(account.key, 2), await openMany(other.key, 1)];
    await seenBy(account, mine);
    const response = (await change(account)) as { status: number };
    expect(response.status).toBeLessThan(300);
    await waitFor('its streams to end', () => mine.every(({ end }) => end !== undefined));
    await seenBy(other, others);
    expect((await open(account.key)).status).toBeGreaterThanOrEqual(401);
  });

  it('when its key expires', async () => {
    const account = await platform.account();
    const expiresAt = new Date(platform.clock.now().getTime() + 3_600_000).toISOString();
    const [short, long] = [await platform.issueKey(account.id, { expires_at: expiresAt }), account.key];
    const [ending, lasting] = [await open(short), await open(long)];
    await seenBy(account, [ending, lasting]);
    platform.clock.advance(3_700_000);
    await waitFor('its stream to end', () => ending.end);
    await seenBy(account, [lasting]);
  });

  it('when its gateway stops, with the time to reconnect', async () => {
    const account = await platform.account();
    const another = await startAnother();
    const reader = await open(account.key, another.url);
    await seenBy(account, [reader]);
    await another.stop();
    await waitFor('the end', () => reader.end);
    expect([reader.end, reader.retryMs! > 0, reader.events.length]).toEqual(['ended', true, 1]);
  });
});
