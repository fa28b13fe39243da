import type { Consuming } from '../bus/bus.ts';

/** Measures the events that a consumer has not finished, and since when some have waited without a break: the bus tells no more. */
export class PendingLag {
  readonly #consuming: Consuming;
  readonly #clock: () => Date;
  #since: Date | undefined;

  constructor(consuming: Consuming, clock: () => Date) {
    this.#consuming = consuming;
    this.#clock = clock;
  }

  /** Undefined while the bus is unavailable: nobody knows then. */
  async measure(): Promise<{ ready: number; oldest: Date | null } | undefined> {
    const pending = await this.#consuming.pending().catch(() => undefined);
    if (!pending) return undefined;
    this.#since = pending.count === 0 ? undefined : (pending.oldestAt ?? this.#since ?? this.#clock());
    return { ready: pending.count, oldest: this.#since ?? null };
  }
}
