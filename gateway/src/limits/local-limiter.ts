import { LRUCache } from '@customer-platform/service-kit';
import type { BucketState, RatePolicy } from './rate-policy.ts';

/** An evicted bucket counts as full: the least recently used most likely is. */
const maxBuckets = 20_000;

/** Limits in one process alone, by its share of the bucket, in memory. The fallback while Redis is unavailable. */
export class LocalLimiter {
  readonly #spentUntilUs = new LRUCache<string, number>({ max: maxBuckets });

  /** Takes `cost` requests of the key's share, which is one part in `gateways`. */
  take(policy: RatePolicy, cost: 0 | 1, gateways: number): BucketState {
    const intervalUs = policy.intervalUs * gateways;
    const burst = Math.max(1, Math.floor(policy.burst / gateways));
    const nowUs = performance.now() * 1_000;
    const spentUntilUs = Math.max(this.#spentUntilUs.get(policy.bucket) ?? 0, nowUs) + intervalUs * cost;
    const waitUs = spentUntilUs - intervalUs * burst - nowUs;
    // A millionth of a second off is rounding, not a request too many.
    if (waitUs > 1) return -waitUs;
    if (cost === 1) this.#spentUntilUs.set(policy.bucket, spentUntilUs);
    return (spentUntilUs - nowUs) / gateways;
  }
}
