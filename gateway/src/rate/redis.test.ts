import { randomUUID } from 'node:crypto';
import { waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { openRedis } from './redis.ts';

it('a bucket is empty, not spent for an hour, when the clock of Redis has gone back by one', async () => {
  const settings = {
    REDIS_URL: process.env.TEST_REDIS_URL!,
    REDIS_PREFIX: `clock-${randomUUID()}`,
    REDIS_MODE: 'single' as const,
    REDIS_TIMEOUT_MS: 10_000,
    REDIS_SENTINEL_NAME: 'none',
    REDIS_SENTINEL_PASSWORD: undefined,
  };
  const redis = openRedis(settings, () => undefined);
  try {
    await waitFor('Redis', () => redis.status === 'ready');
    // What a full bucket of two holds an hour from now, at one request a minute.
    const [interval, hour] = [60_000_000, 3_600_000_000];
    const take = async (cost: 0 | 1) =>
      (await redis.takeRequests(1, 'rate:one', String(interval), '2', String(cost)))[0]!;
    const client = redis as unknown as {
      set(name: string, value: number): Promise<unknown>;
      get(name: string): Promise<string>;
    };
    await client.set('rate:one', Date.now() * 1_000 + hour + 2 * interval);
    expect(await take(1)).toBe(-interval);
    // It fills from now on, although nothing was taken.
    expect(Number(await client.get('rate:one'))).toBeLessThan(Date.now() * 1_000 + 2 * interval + 1_000);
    expect(await take(1)).toBeLessThan(0);
  } finally {
    redis.disconnect();
  }
});
