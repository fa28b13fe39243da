import type { LiveProcess } from '@customer-platform/contracts/accounts';
import {
  type Platform,
  type Relay,
  rawRequest,
  startPlatform,
  startRelay,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

let redis: Relay;
let platform: Platform;
let account: TestAccount;
let second: { url: string; stop(): Promise<void> };

beforeAll(async () => {
  redis = await startRelay(process.env.TEST_REDIS_URL!);
  platform = await startPlatform({ services: [], env: { REDIS_URL: redis.url } });
  second = await startGateway(platform.env('gateway'));
  account = await platform.account();
});

afterAll(async () => {
  redis?.mend();
  await second?.stop();
  await platform?.stop();
  await redis?.stop();
});

const keyOf = (per_minute: number, burst: number) =>
  platform.issueKey(account.id, { rate_limit: { per_minute, burst } });
const ask = (key: string, url = platform.gatewayUrl) => rawRequest(url, 'GET', '/v1/me', { key });

/** Returns the `waiting_for` of each gateway. */
async function waitedFor(): Promise<string[]> {
  const { body } = await platform.admin('GET', '/admin/services');
  return (body.data as LiveProcess[]).map(({ waiting_for }) => waiting_for ?? '');
}

async function statuses(key: string, count: number): Promise<number[]> {
  const codes: number[] = [];
  for (let index = 0; index < count; index++) {
    const url = index % 2 === 0 ? platform.gatewayUrl : second.url;
    codes.push((await ask(key, url)).status);
  }
  return codes;
}

describe('the rate of a key', () => {
  it('allows a burst, then refuses with the time to wait, which every response shows', async () => {
    const key = await keyOf(6, 3);
    const beganMs = performance.now();
    /** Whole seconds in which the bucket may have refilled: none unless the machine stalls. */
    const filled = () => Math.floor((performance.now() - beganMs) / 1_000);
    const expectSeconds = (given: string | number, most: number) => {
      expect(Number(given)).toBeLessThanOrEqual(most);
      expect(Number(given)).toBeGreaterThanOrEqual(most - filled());
    };
    const left: string[] = [];
    for (let count = 0; count < 3; count++) {
      const response = await ask(key);
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-policy')).toBe('"key";q=3;w=30');
      const [, remaining, seconds] = /^"key";r=(\d+);t=(\d+)$/.exec(response.headers.get('ratelimit')!)!;
      left.push(remaining!);
      expectSeconds(seconds!, (count + 1) * 10);
    }
    expect(left).toEqual(['2', '1', '0']);
    const refused = await ask(key);
    expect(refused.status).toBe(429);
    expect(refused.body.error.code).toBe('rate_limited');
    const [, seconds] = /^"key";r=0;t=(\d+)$/.exec(refused.headers.get('ratelimit')!)!;
    expectSeconds(seconds!, 30);
    expectSeconds(refused.headers.get('retry-after')!, 10);
  });

  it('is shared by all gateways', async () => {
    expect(await statuses(await keyOf(1, 4), 6)).toEqual([200, 200, 200, 200, 429, 429]);
  });

  it('refills with time', async () => {
    const key = await keyOf(600, 1);
    expect((await ask(key)).status).toBe(200);
    // The bucket refills within 100 ms, so one of two simultaneous requests is refused.
    await waitFor('a refusal', async () => {
      const both = await Promise.all([ask(key), ask(key, second.url)]);
      return both.some(({ status }) => status === 429);
    });
    await waitFor('a token', async () => (await ask(key)).status === 200);
  });

  it('grants each token to at most one request, however many arrive at once', async () => {
    const key = await keyOf(1, 10);
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_none, index) => ask(key, index % 2 ? second.url : platform.gatewayUrl)),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  it("is the account's if the key has none, and 600 a minute with a burst of 100 if the account has none", async () => {
    const { body } = await platform.admin('POST', '/admin/accounts', { name: 'Plain' });
    const key = await platform.issueKey(body.id);
    expect((await ask(key)).headers.get('ratelimit-policy')).toBe('"key";q=100;w=10');
    await platform.admin('PATCH', `/admin/accounts/${body.id}`, { rate_limit: { burst: 7 } });
    expect((await ask(key)).headers.get('ratelimit-policy')).toBe('"key";q=7;w=1');
  });

  it('is not used by requests that are refused by earlier checks', async () => {
    const key = await platform.issueKey(account.id, {
      rate_limit: { per_minute: 1, burst: 2 },
      allowed_addresses: ['203.0.113.1'],
    });
    for (let count = 0; count < 5; count++) {
      const response = await ask(key);
      expect(response.status).toBe(403);
      expect(response.headers.get('ratelimit')).toBe('"key";r=2;t=0');
    }
  });
});

describe('while Redis is unavailable', () => {
  it.each(['cut', 'stall'] as const)(
    '(%s) each gateway limits its share at once, and shares the limit again afterwards',
    async (how) => {
      const [key, known] = [await keyOf(1, 8), await keyOf(1, 400)];
      const left = async () => Number(/;r=(\d+);/.exec((await ask(known, second.url)).headers.get('ratelimit')!)![1]);
      expect(await left()).toBe(399);
      redis[how]();
      try {
        const codes = await statuses(key, 20);
        const allowed = codes.filter((status) => status === 200).length;
        expect(allowed).toBe(8);
        expect(codes.slice(10)).toEqual(Array.from({ length: 10 }, () => 429));
        const response = await ask(key);
        expect(response.status).toBe(429);
        expect(response.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/);
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
        await waitFor('both to wait for Redis', async () => (await waitedFor()).join() === 'Redis,Redis');
      } finally {
        redis.mend();
      }
      await waitFor('the other gateway to see used tokens', async () => {
        const before = await left();
        for (let taken = 0; taken < 3; taken++) await ask(known);
        return (await left()) <= before - 3;
      });
      await waitFor('no gateway to wait for Redis', async () => (await waitedFor()).join('') === '');
    },
  );
});

it('reconnects to Redis after a connection has gone silent', async () => {
  redis.silence();
  await waitFor(
    'the limit to be shared again',
    async () => (await statuses(await keyOf(1, 3), 3)).every((status) => status === 200),
    30_000,
  );
}, 60_000);
