import type { RateLimit } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import { type Logger, meter, whenLate } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { LocalBuckets } from './local-rate.ts';
import { type GatewayRedis, shardTag } from './redis.ts';

/** The limit of one key, computed once: a token bucket in GCRA form. */
export interface RatePolicy {
  /** Redis key of its bucket. */
  bucket: string;
  /** Number that selects its shard, the same in every process. */
  hash: number;
  burst: number;
  /** Time to refill one request, in microseconds. */
  intervalUs: number;
  /** Burst and interval as Redis arguments. */
  burstText: string;
  intervalText: string;
  /** `RateLimit-Policy`: the quota is the burst, the window the time in which an empty bucket refills. */
  header: string;
}

/** Returns the policy of a key for its limit. */
export function ratePolicy(keyId: string, limit: RateLimit): RatePolicy {
  const intervalUs = 60_000_000 / limit.per_minute;
  const windowSeconds = Math.ceil((intervalUs * limit.burst) / 1_000_000);
  return {
    bucket: `rate:${keyId}`,
    hash: hashOf(keyId),
    burst: limit.burst,
    intervalUs,
    burstText: String(limit.burst),
    intervalText: String(intervalUs),
    header: `"key";q=${limit.burst};w=${windowSeconds}`,
  };
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/**
 * Bucket state as one number in microseconds: how far in the future the bucket is full again. If negative, the wait
 * until one more request fits.
 */
export type BucketState = number;

/** Returns the `RateLimit` header: remaining requests, and seconds until the bucket is full again. */
export function rateLimitHeader(policy: RatePolicy, state: BucketState): string {
  const fullUs = policy.intervalUs * policy.burst;
  if (state < 0) return `"key";r=0;t=${Math.ceil((fullUs - policy.intervalUs - state) / 1_000_000)}`;
  const left = Math.max(0, Math.floor((fullUs - state) / policy.intervalUs + 1e-6));
  return `"key";r=${left};t=${Math.ceil(state / 1_000_000)}`;
}

/** Returns the refusal of a request that fits in `waitMs`. `Retry-After`, which is passed to `message`, is at least 1 s. */
export function rateLimited(waitMs: number, message: (seconds: number) => string): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new ApiError('rate_limited', message(seconds), { headers: { 'Retry-After': String(seconds) } });
}

/** Maximum requests in one script, because Redis runs nothing else meanwhile. */
const maxBatch = 100;

/** The part of a policy that Redis needs. */
export type Bucket = Pick<RatePolicy, 'bucket' | 'intervalText' | 'burstText'>;

interface Waiting {
  policy: Bucket;
  cost: 0 | 1;
  resolve(state: BucketState): void;
  reject(error: unknown): void;
}

/**
 * The limit in Redis, for all gateways. Batches the requests of one tick of the event loop by shard. Sending each alone
 * would cost a third of a forwarded request.
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

  /** Takes `cost` requests from a key's bucket in `shard`. Rejects if Redis does not reply in time. */
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
    const cancelTimeout = whenLate(timeoutMs, () => giveUp(new Error(`Redis did not reply within ${timeoutMs} ms`)));
    const taking = this.#redis.takeRequests(requests.length, ...buckets, ...limits).finally(cancelTimeout);
    taking
      .then((states) => {
        // The requests of a batch that timed out are settled already, so these calls do nothing.
        for (let index = 0; index < requests.length; index++) requests[index]!.resolve(states[index]!);
      })
      .catch(giveUp);
  }
}

/** Pause after a failure before the next attempt to use Redis. */
const pauseMs = 250;
/** Consecutive failures after which Redis counts as unavailable. This process may cause a single late reply. */
const failuresUntilUnavailable = 3;

const fallbacks = meter.createCounter('gateway.rate_limit.fallback', {
  description: 'Requests whose rate was limited by this process alone, because Redis did not respond.',
});

const decisions = meter.createCounter('gateway.rate_limit.decisions', {
  description: 'Requests that the rate let through, and those that it refused.',
});

const gauges = {
  'gateway.rate_limit.local': {
    description:
      '1 while Redis, or a part of its cluster, is unavailable and this process limits the rates there alone, else 0.',
  },
};

/** A part of Redis that may be unavailable separately: in a cluster one master's, otherwise the only one. */
interface Shard {
  index: number;
  failures: number;
  nextTryMs: number;
}

/**
 * A bucket to test whether Redis accepts writes, because a full Redis or a replica still serves reads. It allows a
 * million tokens a second, so each probe has one and is written. Its key expires within milliseconds.
 */
const probe: Bucket = { bucket: 'rate:probe', intervalText: '1', burstText: '1000000' };

/** Limits each key's rate across all gateways in Redis. While Redis does not respond, each gateway limits its share. */
export class RateLimiter {
  readonly #redis: GatewayRedis;
  readonly #gateways: LiveGateways;
  readonly #log: Logger;
  readonly #shared: RedisLimiter;
  readonly #local = new LocalBuckets();
  readonly #shards: Shard[];
  readonly #unavailable = new Set<Shard>();

  constructor(redis: GatewayRedis, gateways: LiveGateways, log: Logger) {
    this.#redis = redis;
    this.#shared = new RedisLimiter(redis);
    this.#shards = Array.from({ length: redis.shards }, (_none, index) => ({ index, failures: 0, nextTryMs: 0 }));
    this.#gateways = gateways;
    this.#log = log;
    meter.observe(gauges, (observe) => observe('gateway.rate_limit.local', this.isRedisUnavailable() ? 1 : 0));
  }

  /**
   * Takes one request from a key's bucket (`cost` 1) or only reads its state (0). Never throws. Waits at most
   * REDIS_TIMEOUT_MS.
   */
  async take(policy: RatePolicy, cost: 0 | 1): Promise<BucketState> {
    const state = await this.#stateAfter(policy, cost);
    if (cost === 1) decisions.add(1, { decision: state < 0 ? 'refused' : 'allowed' });
    return state;
  }

  async #stateAfter(policy: RatePolicy, cost: 0 | 1): Promise<BucketState> {
    if (this.#unavailable.size > 0) this.#probe();
    const shard = this.#shards[policy.hash % this.#shards.length]!;
    if (!this.#unavailable.has(shard)) {
      try {
        const state = await this.#shared.take(shard.index, policy, cost);
        // A read does not show that Redis accepts writes.
        if (shard.failures > 0 && cost === 1 && state >= 0) this.#recover(shard);
        return state;
      } catch (error) {
        this.#fail(shard, error);
      }
    }
    fallbacks.add(1);
    return this.#takeLocal(policy, cost);
  }

  /** Limits in this process only, to its share of the bucket. */
  #takeLocal(policy: RatePolicy, cost: 0 | 1): BucketState {
    const gateways = this.#gateways.count();
    const intervalUs = policy.intervalUs * gateways;
    const burst = Math.max(1, Math.floor(policy.burst / gateways));
    const spentUs = this.#local.aheadUs(policy.bucket) + intervalUs * cost;
    const waitUs = spentUs - intervalUs * burst;
    // A difference of a microsecond comes from rounding.
    if (waitUs > 1) return -waitUs;
    if (cost === 1) this.#local.spend(policy.bucket, intervalUs);
    return spentUs / gateways;
  }

  /** Returns whether this process applies limits alone, in a cluster at least some of them. */
  isRedisUnavailable(): boolean {
    return this.#unavailable.size > 0;
  }

  /** Probes every unavailable shard with one write at a time. No request waits for a probe. */
  #probe(): void {
    const nowMs = performance.now();
    for (const shard of this.#unavailable) {
      if (nowMs < shard.nextTryMs) continue;
      shard.nextTryMs = Number.POSITIVE_INFINITY;
      this.#shared.take(shard.index, probe, 1).then(
        () => this.#recover(shard),
        (error: unknown) => this.#fail(shard, error),
      );
    }
  }

  #fail(shard: Shard, error: unknown): void {
    const isConnected = this.#redis.status === 'ready';
    shard.failures = isConnected ? shard.failures + 1 : Math.max(shard.failures + 1, failuresUntilUnavailable);
    if (shard.failures < failuresUntilUnavailable) return;
    shard.nextTryMs = performance.now() + pauseMs;
    const wasAvailable = this.#unavailable.size === 0;
    this.#unavailable.add(shard);
    if (!wasAvailable) return;
    const part = this.#shards.length > 1 ? 'Part of the Redis cluster' : 'Redis';
    this.#log.warn({ err: error }, `${part} unavailable; each gateway limits its share of the rate`);
  }

  #recover(shard: Shard): void {
    shard.failures = 0;
    if (this.#unavailable.delete(shard) && this.#unavailable.size === 0) this.#log.warn('Redis available again');
  }
}
