import { DeadlineWatch, type Timed } from '@customer-platform/service-kit';
import type { BucketState, RatePolicy } from './rate-policy.ts';
import type { GatewayRedis } from './redis.ts';

/** Most requests in one script: Redis does nothing else while it runs. */
const maxBatch = 100;
/** Poll interval for late replies. */
const lookEveryMs = 10;

interface Waiting {
  policy: RatePolicy;
  cost: 0 | 1;
  resolve(state: BucketState): void;
  reject(error: unknown): void;
}

interface Batch extends Timed {
  requests: Waiting[];
}

/**
 * The limit in Redis, for all gateways. Requests of one tick of the event loop go to Redis together: sending each alone
 * costs a third of a proxied request. One timer watches all batches, for the same reason.
 */
export class RedisLimiter {
  readonly #redis: GatewayRedis;
  readonly #underWay: DeadlineWatch<Batch>;
  #waiting: Waiting[] = [];
  readonly #flush = () => {
    const all = this.#waiting;
    this.#waiting = [];
    for (let begin = 0; begin < all.length; begin += maxBatch) this.#send(all.slice(begin, begin + maxBatch));
  };

  constructor(redis: GatewayRedis) {
    this.#redis = redis;
    this.#underWay = new DeadlineWatch(redis.timeoutMs, lookEveryMs, (batch) => {
      this.#giveUp(batch, new Error(`Redis did not reply within ${redis.timeoutMs} ms`));
    });
  }

  /** Takes `cost` requests from a key's bucket. Rejects if Redis does not reply in time. */
  take(policy: RatePolicy, cost: 0 | 1): Promise<BucketState> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ policy, cost, resolve, reject }) === 1) setImmediate(this.#flush);
    });
  }

  #send(requests: Waiting[]): void {
    const buckets: string[] = [];
    const limits: string[] = [];
    for (const { policy, cost } of requests) {
      buckets.push(policy.bucket);
      limits.push(policy.intervalText, policy.burstText, cost === 1 ? '1' : '0');
    }
    const batch: Batch = { requests, startedAtMs: performance.now(), isOver: false };
    this.#underWay.watch(batch);
    this.#redis.takeRequests(requests.length, ...buckets, ...limits).then(
      (states) => {
        batch.isOver = true;
        // A batch that timed out is settled already: these calls do nothing then.
        for (let index = 0; index < requests.length; index++) requests[index]!.resolve(states[index]!);
      },
      (error: unknown) => this.#giveUp(batch, error),
    );
  }

  #giveUp(batch: Batch, error: unknown): void {
    batch.isOver = true;
    for (const { reject } of batch.requests) reject(error);
  }
}
