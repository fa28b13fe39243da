import { LRUCache } from '@customer-platform/service-kit';

/** Milliseconds that an owner owed at a time. */
interface Debt {
  ms: number;
  atMs: number;
}

/** Owners whose debts are remembered: of more, those longest ago are forgiven. */
const maxDebts = 10_000;

/** Debts of owners for what they have used lately, in milliseconds: each is owed for `ratio` times as long as it was used. */
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
    // Where a clock is set back, as in tests, it becomes less from then on.
    before.atMs = Math.min(before.atMs, nowMs);
    return Math.max(0, before.ms - (nowMs - before.atMs) / this.#ratio);
  }

  /** Adds to what an owner owes; returns that. */
  add(owner: string, usedMs: number): number {
    const ms = this.of(owner) + usedMs;
    this.#debts.set(owner, { ms, atMs: performance.now() });
    return ms;
  }
}
