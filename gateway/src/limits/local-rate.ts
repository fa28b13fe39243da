import { LRUCache } from '@customer-platform/service-kit';

const maxKeys = 20_000;

/** A token bucket per key in this process: `burst` at once, refilled with `perSecond`. At most 20,000 are remembered. */
export class LocalRate {
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #spentUntilMs = new LRUCache<string, number>({ max: maxKeys });

  constructor(perSecond: number, burst: number) {
    this.#intervalMs = 1_000 / perSecond;
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
    const spentUntilMs = this.#spentUntilMs.get(key);
    if (spentUntilMs === undefined) return 0;
    // A millionth of a second off is rounding, not one too many.
    const waitMs = spentUntilMs - performance.now() - this.#intervalMs * (this.#burst - 1);
    return waitMs > 0.001 ? waitMs : 0;
  }

  /** Takes a token from a key's bucket even if it holds none. */
  charge(key: string): void {
    const nowMs = performance.now();
    const spentUntilMs = Math.max(this.#spentUntilMs.get(key) ?? 0, nowMs) + this.#intervalMs;
    this.#spentUntilMs.set(key, spentUntilMs);
  }
}
