import { type Logger, meter, telemetryEnabled } from '@customer-platform/service-kit';
import type { LiveGateways } from './live-gateways.ts';
import { LocalLimiter } from './local-limiter.ts';
import type { RatePolicy, Standing } from './rate-policy.ts';
import type { GatewayRedis } from './redis.ts';
import { RedisLimiter } from './redis-limiter.ts';

/** How long Redis is left alone once it has failed. */
const pauseMs = 250;
/** So many failures in a row mean that it is away; a single late answer may be this process's own doing. */
const failuresUntilAway = 3;

const fallbacks = meter.createCounter('gateway.rate_limit.fallback', {
  description: 'Requests whose rate was limited by this process alone, for Redis did not answer.',
});

const decisions = meter.createCounter('gateway.rate_limit.decisions', {
  description: 'Requests that the rate let through, and those that it refused.',
});

/** Limits each key's rate across all gateways by Redis, and by each gateway's share where Redis does not answer. */
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
  }

  /**
   * Takes one request of a key's bucket (`cost` 1), or only looks at it (0). Never throws, never waits longer than 50
   * ms.
   */
  async take(policy: RatePolicy, cost: 0 | 1): Promise<Standing> {
    const standing = await this.#standing(policy, cost);
    if (cost === 1 && telemetryEnabled()) decisions.add(1, { decision: standing < 0 ? 'refused' : 'allowed' });
    return standing;
  }

  async #standing(policy: RatePolicy, cost: 0 | 1): Promise<Standing> {
    if (!this.isRedisAway() || performance.now() >= this.#nextTryMs) {
      try {
        const standing = await this.#shared.take(policy, cost);
        if (this.#failures > 0) this.#recover();
        return standing;
      } catch (error) {
        this.#fail(error);
      }
    }
    fallbacks.add(1);
    return this.#local.take(policy, cost, this.#gateways.count());
  }

  /** Whether limits are kept by this process alone. */
  isRedisAway(): boolean {
    return this.#failures >= failuresUntilAway;
  }

  #fail(error: unknown): void {
    this.#failures =
      this.#redis.status === 'ready' ? this.#failures + 1 : Math.max(this.#failures + 1, failuresUntilAway);
    if (!this.isRedisAway()) return;
    const wasKnown = this.#nextTryMs > 0;
    this.#nextTryMs = performance.now() + pauseMs;
    if (!wasKnown) this.#log.warn({ err: error }, 'Redis does not answer; each gateway limits its share of the rate');
  }

  #recover(): void {
    if (this.#nextTryMs > 0) this.#log.warn('Redis answers again');
    this.#failures = 0;
    this.#nextTryMs = 0;
  }
}
