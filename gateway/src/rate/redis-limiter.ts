import { within } from '../within.ts';
import type { RatePolicy, Standing } from './rate-policy.ts';
import { type GatewayRedis, redisTimeoutMs } from './redis.ts';

/** Most requests in one script: Redis does nothing else while it runs. */
const maxBatch = 100;

interface Waiting {
  policy: RatePolicy;
  cost: 0 | 1;
  resolve(standing: Standing): void;
  reject(error: unknown): void;
}

/**
 * The limit as Redis keeps it for all gateways. Requests of one turn of the event loop go to Redis together: sending
 * each alone costs a third of a proxied request.
 */
export class RedisLimiter {
  readonly #redis: GatewayRedis;
  #waiting: Waiting[] = [];
  readonly #flush = () => {
    const batch = this.#waiting;
    this.#waiting = [];
    for (let begin = 0; begin < batch.length; begin += maxBatch) void this.#send(batch.slice(begin, begin + maxBatch));
  };

  constructor(redis: GatewayRedis) {
    this.#redis = redis;
  }

  /** Takes `cost` requests of a key's bucket. Rejects where Redis does not answer within 50 ms. */
  take(policy: RatePolicy, cost: 0 | 1): Promise<Standing> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ policy, cost, resolve, reject }) === 1) setImmediate(this.#flush);
    });
  }

  async #send(batch: Waiting[]): Promise<void> {
    const buckets: string[] = [];
    const limits: string[] = [];
    for (const { policy, cost } of batch) {
      buckets.push(policy.bucket);
      limits.push(policy.intervalText, policy.burstText, cost === 1 ? '1' : '0');
    }
    try {
      const answer = this.#redis.takeRequests(batch.length, ...buckets, ...limits);
      const standings = await within(redisTimeoutMs, answer);
      for (let index = 0; index < batch.length; index++) batch[index]!.resolve(standings[index]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
