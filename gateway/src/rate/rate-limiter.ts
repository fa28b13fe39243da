import { type Logger, meter } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { LocalLimiter } from './local-limiter.ts';
import type { BucketState, RatePolicy } from './rate-policy.ts';
import type { GatewayRedis } from './redis.ts';
import { RedisLimiter } from './redis-limiter.ts';

/** Pause before Redis is tried again after a failure. */
const pauseMs = 250;
/** Failures in a row after which Redis counts as unavailable; a single late reply may be this process's own fault. */
const failuresUntilUnavailable = 3;

const fallbacks = meter.createCounter('gateway.rate_limit.fallback', {
  description: 'Requests whose rate was limited by this process alone, because Redis did not respond.',
});

const decisions = meter.createSummedCounter(
  'gateway.rate_limit.decisions',
  { description: 'Requests that the rate let through, and those that it refused.' },
  'decision',
);

const gauges = {
  'gateway.rate_limit.local': {
    description: '1 while Redis is unavailable and this process limits rates alone, else 0.',
  },
};

/** Limits each key's rate across all gateways by Redis, and by each gateway's share while Redis does not respond. */
export class RateLimiter {
  readonly #redis: GatewayRedis;
  readonly #gateways: LiveGateways;
  readonly #log: Logger;
  readonly #shared: RedisLimiter;
  readonly #local = new LocalLimiter();
  #failures = 0;
  #nextTryMs = 0;

  constructor(redis: GatewayRedis, gateways: LiveGateways, log: Logger) {
    this.#redis = redis;
    this.#shared = new RedisLimiter(redis);
    this.#gateways = gateways;
    this.#log = log;
    meter.observe(gauges, (observe) => observe('gateway.rate_limit.local', this.isRedisUnavailable() ? 1 : 0));
  }

  /**
   * Takes one request from a key's bucket (`cost` 1), or only reads its state (0). Never throws, never waits longer
   * than 50 ms.
   */
  async take(policy: RatePolicy, cost: 0 | 1): Promise<BucketState> {
    const state = await this.#stateAfter(policy, cost);
    if (cost === 1) decisions.add(1, state < 0 ? 'refused' : 'allowed');
    return state;
  }

  async #stateAfter(policy: RatePolicy, cost: 0 | 1): Promise<BucketState> {
    if (!this.isRedisUnavailable() || performance.now() >= this.#nextTryMs) {
      try {
        const state = await this.#shared.take(policy, cost);
        if (this.#failures > 0) this.#recover();
        return state;
      } catch (error) {
        this.#fail(error);
      }
    }
    fallbacks.add(1);
    return this.#local.take(policy, cost, this.#gateways.count());
  }

  /** Returns whether limits are kept by this process alone. */
  isRedisUnavailable(): boolean {
    return this.#failures >= failuresUntilUnavailable;
  }

  #fail(error: unknown): void {
    this.#failures =
      this.#redis.status === 'ready' ? this.#failures + 1 : Math.max(this.#failures + 1, failuresUntilUnavailable);
    if (!this.isRedisUnavailable()) return;
    const wasKnown = this.#nextTryMs > 0;
    this.#nextTryMs = performance.now() + pauseMs;
    if (!wasKnown) this.#log.warn({ err: error }, 'Redis unavailable; each gateway limits its share of the rate');
  }

  #recover(): void {
    if (this.#nextTryMs > 0) this.#log.warn('Redis available again');
    this.#failures = 0;
    this.#nextTryMs = 0;
  }
}
