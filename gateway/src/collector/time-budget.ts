/** Processor time that may be spent: a part of all time, and so much of it at once. */
export class TimeBudget {
  readonly #ratio: number;
  readonly #burstMs: number;
  readonly #clock: () => number;
  #leftMs: number;
  #refilledAtMs: number;

  constructor({
    ratio,
    burstMs,
    clock = () => performance.now(),
  }: { ratio: number; burstMs: number; clock?: () => number }) {
    this.#ratio = ratio;
    this.#burstMs = burstMs;
    this.#clock = clock;
    this.#leftMs = burstMs;
    this.#refilledAtMs = clock();
  }

  /** Takes what was spent; it may be more than was left, and the next ones wait for it. */
  charge(ms: number): void {
    this.#leftMs -= ms;
  }

  /** Returns whether anything is left. */
  hasLeft(): boolean {
    const nowMs = this.#clock();
    this.#leftMs = Math.min(this.#burstMs, this.#leftMs + (nowMs - this.#refilledAtMs) * this.#ratio);
    this.#refilledAtMs = nowMs;
    return this.#leftMs > 0;
  }
}
