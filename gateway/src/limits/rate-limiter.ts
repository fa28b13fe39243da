import { type Logger, meter } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { LocalBuckets } from './local-rate.ts';
import type { BucketState, RatePolicy } from './rate-policy.ts';
import type { GatewayRedis } from './redis.ts';
import { type Bucket, RedisLimiter } from './redis-limiter.ts';

/** Pause before Redis is tried again after a failure. */
const pauseMs = 250;
/** Failures in a row after which Redis counts as unavailable; a single late reply may be this process's own fault. */
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

/** A part of Redis that may be unavailable for itself: one master's of a cluster; otherwise there is one. */
interface Shard {
  index: number;
  failures: number;
  nextTryMs: number;
}

/**
 * Bucket of its own, to learn whether Redis can be written: one that is full, or a replica, can still be read. It takes a microsecond of a
 * second, so that each probe has room and is written; its key ends within milliseconds.
 */
const probe: Bucket = { bucket: 'rate:probe', intervalText: '1', burstText: '1000000' };

/** Limits each key's rate across all gateways by Redis, and by each gateway's share while Redis does not respond. */
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
   * Takes one request from a key's bucket (`cost` 1), or only reads its state (0). Never throws, never waits longer
   * than REDIS_TIMEOUT_MS.
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
        // What was only read says nothing of writing.
        if (shard.failures > 0 && cost === 1 && state >= 0) this.#recover(shard);
        return state;
      } catch (error) {
        this.#fail(shard, error);
      }
    }
    fallbacks.add(1);
    return this.#takeLocal(policy, cost);
  }

  /** Limits in this process alone, by its share of the bucket. */
  #takeLocal(policy: RatePolicy, cost: 0 | 1): BucketState {
    const gateways = this.#gateways.count();
    const intervalUs = policy.intervalUs * gateways;
    const burst = Math.max(1, Math.floor(policy.burst / gateways));
    const spentUs = this.#local.aheadUs(policy.bucket) + intervalUs * cost;
    const waitUs = spentUs - intervalUs * burst;
    // A microsecond is rounding, not a request too many.
    if (waitUs > 1) return -waitUs;
    if (cost === 1) this.#local.spend(policy.bucket, intervalUs);
    return spentUs / gateways;
  }

  /** Returns whether limits, or some of them in a cluster, are kept by this process alone. */
  isRedisUnavailable(): boolean {
    return this.#unavailable.size > 0;
  }

  /** Tries all that is unavailable, whatever request comes: one write at a time each, for which no request waits. */
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
