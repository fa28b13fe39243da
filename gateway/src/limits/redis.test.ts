import { randomUUID } from 'node:crypto';
import type { Logger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { type RedisProcess, redisPassword, startRedis } from '@customer-platform/testkit/redis-cluster';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LiveGateways } from './live-gateways.ts';
import { RateLimiter, ratePolicy } from './rate-limiter.ts';
import { openRedis } from './redis.ts';

/** Returns settings for one Redis, with a timeout that no reply exceeds. */
const settingsOf = (url: string) => ({
  REDIS_URL: url,
  REDIS_PREFIX: `test-${randomUUID()}`,
  REDIS_MODE: 'single' as const,
  REDIS_TIMEOUT_MS: 10_000,
  REDIS_SENTINEL_NAME: 'none',
  REDIS_SENTINEL_PASSWORD: undefined,
});

it('a URL with TLS connects with TLS, whatever the case of its scheme', () => {
  for (const scheme of ['rediss', 'REDISS', 'Rediss']) {
    const redis = openRedis(settingsOf(`${scheme}://:secret@127.0.0.1:1`), () => undefined) as unknown as Redis;
    redis.disconnect();
    expect(redis.options).toMatchObject({ tls: {}, password: 'secret' });
  }
});

it('a bucket is empty, not blocked for an hour, if the clock of Redis goes back by an hour', async () => {
  const redis = openRedis(settingsOf(process.env.TEST_REDIS_URL!), () => undefined);
  try {
    await waitFor('Redis', () => redis.status === 'ready');
    // The value of a bucket of two that was emptied in an hour from now, at one request a minute.
    const [interval, hour] = [60_000_000, 3_600_000_000];
    const take = async (cost: 0 | 1) =>
      (await redis.takeRequests(1, 'rate:one', String(interval), '2', String(cost)))[0]!;
    const client = redis as unknown as {
      set(name: string, value: number): Promise<unknown>;
      get(name: string): Promise<string>;
    };
    await client.set('rate:one', Date.now() * 1_000 + hour + 2 * interval);
    expect(await take(1)).toBe(-interval);
    // The bucket refills from now on, although the request was refused.
    expect(Number(await client.get('rate:one'))).toBeLessThan(Date.now() * 1_000 + 2 * interval + 1_000);
    expect(await take(1)).toBeLessThan(0);
  } finally {
    redis.disconnect();
  }
});

describe('while Redis accepts reads but no writes', () => {
  let server: RedisProcess;
  beforeAll(async () => {
    server = await startRedis((described) => described);
  }, 60_000);
  afterAll(() => server?.stop());

  /** Returns a limiter on that Redis, its warnings, and the number of failed scripts. */
  async function openLimiter() {
    const redis = openRedis(settingsOf(`redis://:${redisPassword}@127.0.0.1:${server.port}`), () => undefined);
    await waitFor('Redis', () => redis.status === 'ready');
    const told: string[] = [];
    const count = { failed: 0, connected: 0 };
    const run = redis.takeRequests.bind(redis);
    redis.takeRequests = (...given) =>
      run(...given).catch((error: unknown) => {
        count.failed++;
        throw error;
      });
    (redis as unknown as Redis).on('ready', () => count.connected++);
    const log = { warn: (_fields: unknown, message?: string) => told.push(message ?? String(_fields)) };
    const limiter = new RateLimiter(redis, { count: () => 1 } as LiveGateways, log as unknown as Logger);
    const policy = ratePolicy(randomUUID(), { per_minute: 60_000, burst: 1_000 });
    const take = () => limiter.take(policy, 1);
    return { redis, limiter, told, count, take, look: () => limiter.take(policy, 0) };
  }

  const wentAway = 'Redis unavailable; each gateway limits its share of the rate';
  const cameBack = 'Redis available again';

  it.each<[string, [unwritable: string[], writable: string[]]]>([
    [
      'since its memory is full',
      [
        ['CONFIG', 'SET', 'maxmemory', '1'],
        ['CONFIG', 'SET', 'maxmemory', '0'],
      ],
    ],
    [
      'since it became a replica',
      [
        ['REPLICAOF', '127.0.0.1', '1'],
        ['REPLICAOF', 'NO', 'ONE'],
      ],
    ],
  ])('%s, the limit is local until Redis accepts writes again', async (_why, [unwritable, writable]) => {
    const ask = (command: string[]) => server.ask(...(command as [string, ...string[]]));
    const { redis, limiter, told, count, take, look } = await openLimiter();
    try {
      expect(await take()).toBeGreaterThanOrEqual(0);
      await ask(unwritable);
      await waitFor('the limit to be local', async () => {
        await Promise.all([look(), take()]);
        return limiter.isRedisUnavailable();
      });
      const before = count.failed;
      await waitFor('three more attempts', async () => {
        expect(await take()).toBeGreaterThanOrEqual(0);
        return count.failed >= before + 3;
      });
      expect(told).toEqual([wentAway]);
      await ask(writable);
      await waitFor('the limit to be in Redis', async () => {
        await take();
        return !limiter.isRedisUnavailable();
      });
      expect(told).toEqual([wentAway, cameBack]);
    } finally {
      redis.disconnect();
      await ask(writable);
    }
  });

  it('since it became a replica, the limiter reconnects: the name may point to its successor', async () => {
    const { redis, count, take } = await openLimiter();
    try {
      await server.ask('REPLICAOF', '127.0.0.1', '1');
      await waitFor('a new connection', async () => {
        await take();
        return count.connected > 0;
      });
    } finally {
      redis.disconnect();
      await server.ask('REPLICAOF', 'NO', 'ONE');
    }
  });
});
