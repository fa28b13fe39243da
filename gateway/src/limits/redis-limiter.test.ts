import { expect, it } from '@jest/globals';
import type { GatewayRedis } from './redis.ts';
import { RedisLimiter } from './redis-limiter.ts';

it.each([[null], ['OK'], [[]], [[1]], [[1, 2, 3]], [[1, null]], [[1, '2']]])(
  'a reply that is no state of each bucket, %j, is a failure of Redis and ends nothing',
  async (reply) => {
    const redis = { shards: 1, timeoutMs: 10_000, takeRequests: async () => reply };
    const limiter = new RedisLimiter(redis as unknown as GatewayRedis);
    const policy = { bucket: 'rate:one', intervalText: '1', burstText: '1' };
    const taken = await Promise.allSettled([limiter.take(0, policy, 1), limiter.take(0, policy, 1)]);
    expect(taken.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  },
);
