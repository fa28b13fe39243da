/** Something that began at `startedAtMs` (performance.now) and is over at some time. */
export interface Timed {
  readonly startedAtMs: number;
  isOver: boolean;
}

/**
 * Watches any number of things that all have the same time, with one timer: calls `late` once for each that is not over
 * `afterMs` after it began, at most `sweepMs` too late. What ended while this process was busy counts as in time.
 *
 * They are kept in an array in which those that are over stay until the next sweep, not in a Set: each table that a busy Set
 * outgrows refers to the next one, so that a single one that got old keeps all that came after it from being freed young
 * (measured in a loop that adds and deletes: a third of the speed, the rest goes to collecting garbage).
 */
export class DeadlineWatch<Item extends Timed> {
  readonly #afterMs: number;
  readonly #sweepMs: number;
  readonly #late: (item: Item) => void;
  #items: Item[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, sweepMs: number, late: (item: Item) => void) {
    this.#afterMs = afterMs;
    this.#sweepMs = sweepMs;
    this.#late = late;
  }

  /** Watches an item that begins now. */
  watch(item: Item): void {
    this.#items.push(item);
    this.#timer ??= setTimeout(this.#sweep, this.#sweepMs);
  }

  /** Watches nothing any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#items = [];
  }

  readonly #sweep = () => {
    // After a turn of the event loop: what has arrived already is dealt with first.
    setImmediate(() => {
      if (!this.#timer) return;
      const latestMs = performance.now() - this.#afterMs;
      const items = this.#items;
      this.#items = [];
      for (const item of items) {
        if (item.isOver) continue;
        if (item.startedAtMs > latestMs) this.#items.push(item);
        else this.#late(item);
      }
      this.#timer = this.#items.length > 0 ? setTimeout(this.#sweep, this.#sweepMs) : undefined;
    });
  };
}
