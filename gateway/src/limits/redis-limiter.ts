import { whenLate } from '@customer-platform/service-kit';
import type { BucketState, RatePolicy } from './rate-policy.ts';
import { type GatewayRedis, shardTag } from './redis.ts';

/** Most requests in one script: Redis does nothing else while it runs. */
const maxBatch = 100;

/** Part of a policy that Redis needs. */
export type Bucket = Pick<RatePolicy, 'bucket' | 'intervalText' | 'burstText'>;

interface Waiting {
  policy: Bucket;
  cost: 0 | 1;
  resolve(state: BucketState): void;
  reject(error: unknown): void;
}

/**
 * The limit in Redis, for all gateways. Requests of one tick of the event loop go to Redis together, those of one shard:
 * sending each alone costs a third of a proxied request.
 */
export class RedisLimiter {
  readonly #redis: GatewayRedis;
  /** By shard. */
  readonly #waiting: Waiting[][];
  #isDue = false;
  readonly #flush = () => {
    this.#isDue = false;
    for (const [shard, all] of this.#waiting.entries()) {
      if (all.length === 0) continue;
      this.#waiting[shard] = [];
      for (let begin = 0; begin < all.length; begin += maxBatch) this.#send(shard, all.slice(begin, begin + maxBatch));
    }
  };

  constructor(redis: GatewayRedis) {
    this.#redis = redis;
    this.#waiting = Array.from({ length: redis.shards }, () => []);
  }

  /** Takes `cost` requests from a key's bucket, which is in `shard`. Rejects if Redis does not reply in time. */
  take(shard: number, policy: Bucket, cost: 0 | 1): Promise<BucketState> {
    return new Promise((resolve, reject) => {
      this.#waiting[shard]!.push({ policy, cost, resolve, reject });
      if (this.#isDue) return;
      this.#isDue = true;
      setImmediate(this.#flush);
    });
  }

  #send(shard: number, requests: Waiting[]): void {
    const tag = this.#waiting.length === 1 ? '' : shardTag(shard);
    const buckets: string[] = [];
    const limits: string[] = [];
    for (const { policy, cost } of requests) {
      buckets.push(tag + policy.bucket);
      limits.push(policy.intervalText, policy.burstText, cost === 1 ? '1' : '0');
    }
    const { timeoutMs } = this.#redis;
    const giveUp = (error: unknown) => {
      for (const { reject } of requests) reject(error);
    };
    const inTime = whenLate(timeoutMs, () => giveUp(new Error(`Redis did not reply within ${timeoutMs} ms`)));
    const taking = this.#redis.takeRequests(requests.length, ...buckets, ...limits).finally(inTime);
    taking
      .then((states) => {
        // A batch that timed out is settled already: these calls do nothing then.
        for (let index = 0; index < requests.length; index++) requests[index]!.resolve(states[index]!);
      })
      .catch(giveUp);
  }
}
