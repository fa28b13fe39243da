import { LRUCache } from '@customer-platform/service-kit';

/** An evicted bucket counts as full: the least recently used most likely is. */
const maxBuckets = 20_000;

/** What is spent of token buckets in this process, by key, as time: what a token takes to be refilled, for each. */
export class LocalBuckets {
  readonly #spentUntilUs = new LRUCache<string, number>({ max: maxBuckets });

  /** Returns how far ahead of now a bucket is spent, in microseconds. */
  aheadUs(key: string): number {
    return Math.max(0, (this.#spentUntilUs.get(key) ?? 0) - nowUs());
  }

  /** Spends a token that takes `intervalUs` to be refilled, even if there is none. */
  spend(key: string, intervalUs: number): void {
    this.#spentUntilUs.set(key, nowUs() + this.aheadUs(key) + intervalUs);
  }
}

/** A token bucket per key in this process: `burst` at once, refilled with `perSecond`. */
export class LocalRate {
  readonly #intervalUs: number;
  readonly #burst: number;
  readonly #buckets = new LocalBuckets();

  constructor(perSecond: number, burst: number) {
    this.#intervalUs = 1_000_000 / perSecond;
    this.#burst = burst;
  }

  /** Takes a token from a key's bucket; returns 0, or the milliseconds until there is one. */
  take(key: string): number {
    const waitMs = this.waitMs(key);
    if (waitMs === 0) this.charge(key);
    return waitMs;
  }

  /** Returns the milliseconds until a key's bucket holds a token; 0 if it does now. */
  waitMs(key: string): number {
    const waitUs = this.#buckets.aheadUs(key) - this.#intervalUs * (this.#burst - 1);
    // A microsecond is rounding, not one too many.
    return waitUs > 1 ? waitUs / 1_000 : 0;
  }

  /** Takes a token from a key's bucket even if it holds none. */
  charge(key: string): void {
    this.#buckets.spend(key, this.#intervalUs);
  }
}

const nowUs = () => performance.now() * 1_000;
