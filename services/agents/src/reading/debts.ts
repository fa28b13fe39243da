import { LRUCache } from '@customer-platform/service-kit';

/** Milliseconds that an owner owed at `atMs` on the monotonic clock. */
interface Debt {
  ms: number;
  atMs: number;
}

/** Maximum owners whose debts are remembered. Beyond it, the least recently used debts are forgotten. */
const maxDebts = 10_000;

/** Debts of owners for their recent use, in milliseconds. A debt decays to zero in `ratio` times the time of use. */
export class Debts {
  readonly #debts = new LRUCache<string, Debt>({ max: maxDebts });
  readonly #ratio: number;

  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  /** Returns what an owner owes, in milliseconds. */
  of(owner: string): number {
    const before = this.#debts.get(owner);
    if (!before) return 0;
    const nowMs = performance.now();
    // If a test sets the clock back, the debt decays from the new time on.
    before.atMs = Math.min(before.atMs, nowMs);
    return Math.max(0, before.ms - (nowMs - before.atMs) / this.#ratio);
  }

  /** Adds to an owner's debt and returns the new debt. */
  add(owner: string, usedMs: number): number {
    const ms = this.of(owner) + usedMs;
    this.#debts.set(owner, { ms, atMs: performance.now() });
    return ms;
  }
}
