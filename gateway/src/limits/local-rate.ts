import { LRUCache } from '@customer-platform/service-kit';

/** An evicted bucket counts as full, which the least recently used bucket most likely is. */
const maxBuckets = 20_000;

/** Spent tokens of buckets in this process, by key. They are stored as the time that refilling them takes. */
export class LocalBuckets {
  readonly #spentUntilUs = new LRUCache<string, number>({ max: maxBuckets });

  /** Returns how far in the future a bucket is full again, in microseconds. */
  aheadUs(key: string): number {
    return Math.max(0, (this.#spentUntilUs.get(key) ?? 0) - nowUs());
  }

  /** Spends a token that takes `intervalUs` to refill, even if the bucket is empty. */
  spend(key: string, intervalUs: number): void {
    this.#spentUntilUs.set(key, nowUs() + this.aheadUs(key) + intervalUs);
  }
}

/** A token bucket per key in this process, with `burst` tokens and a refill of `perSecond`. */
export class LocalRate {
  readonly #intervalUs: number;
  readonly #burst: number;
  readonly #buckets = new LocalBuckets();

  constructor(perSecond: number, burst: number) {
    this.#intervalUs = 1_000_000 / perSecond;
    this.#burst = burst;
  }

  /** Takes a token from a key's bucket. Returns 0, or the milliseconds until the bucket has one. */
  take(key: string): number {
    const waitMs = this.waitMs(key);
    if (waitMs === 0) this.charge(key);
    return waitMs;
  }

  /** Returns the milliseconds until a key's bucket has a token, or 0 if it has one now. */
  waitMs(key: string): number {
    const waitUs = this.#buckets.aheadUs(key) - this.#intervalUs * (this.#burst - 1);
    // A difference of a microsecond comes from rounding.
    return waitUs > 1 ? waitUs / 1_000 : 0;
  }

  /** Takes a token from a key's bucket even if the bucket is empty. */
  charge(key: string): void {
    this.#buckets.spend(key, this.#intervalUs);
  }
}

const nowUs = () => performance.now() * 1_000;
