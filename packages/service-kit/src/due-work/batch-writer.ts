import { setTimeout as sleep } from 'node:timers/promises';
import { isTemporaryFailure, isUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

const slowestRetryMs = 2_000;
/** Pause between rounds while nothing is added. */
const everyMs = 60_000;
/** Pause before the next attempt to write items that need another transaction's lock. */
const lockedRetryMs = 50;
/** Time that `stop` has to write those items. */
const stopMs = 5_000;

export interface BatchWriterOptions<Item> {
  /** Names the writer in the log. */
  name: string;
  log: Logger;
  /** Maximum number of items in one call of `write`. */
  maxBatch: number;
  /** Minimum time between rounds of writing, in milliseconds; 0 by default. A lone item is written at once. */
  gatherMs?: number;
  /** Returns how many of the first items may be written together, at least 1; all by default. */
  together?(items: readonly Item[]): number;
  /** Writes all items or none. Leaves out, and returns, every item that needs a lock which another transaction holds. */
  write(items: readonly Item[]): Promise<readonly Item[]>;
  /** Called with one item whose write fails by itself, unless the failure is temporary or a service is unavailable. */
  refused(item: Item, error: unknown): void;
}

/**
 * Writes added items in batches, so that many commit together: all that came since the last transaction, or within `gatherMs`. Items that cannot
 * be written now are kept and written later, in order. An item that can never be written blocks no other item. Nor does an item that needs
 * another transaction's lock, unless all items of a batch do.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  readonly #loop: WakeLoop;
  #waiting: Item[] = [];
  /** Maximum number of items in the next call of `write`. A failure halves it; a success adds an eighth of `maxBatch`. */
  #most: number;

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options;
    this.#most = options.maxBatch;
    const { name, log, gatherMs = 0 } = options;
    const pauseMs = () => (this.#waiting.length > 0 ? lockedRetryMs : everyMs);
    this.#loop = new WakeLoop(name, { everyMs: pauseMs, slowestRetryMs, gatherMs, log }, () => this.#writeAll());
  }

  /** Number of items that wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    this.#loop.wake();
  }

  /** Writes the remaining items, for up to 5 s if they need other transactions' locks. Throws if the database does not accept them now. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const until = performance.now() + stopMs; ; await sleep(lockedRetryMs)) {
      await this.#writeAll();
      if (this.#waiting.length === 0) return;
      if (performance.now() >= until) break;
    }
    const left = this.#waiting.length;
    throw new Error(`${this.#options.name}: ${left} items not written, since other transactions hold their locks`);
  }

  async #writeAll(): Promise<undefined> {
    const { maxBatch, together = (items) => items.length, write, refused } = this.#options;
    // Items added meanwhile wait for the next round.
    for (let left = this.#waiting.length; left > 0; ) {
      const first = this.#waiting.slice(0, Math.min(left, this.#most));
      const batch = first.slice(0, together(first));
      try {
        const locked = await write(batch);
        // No item overtakes another that needs the same lock.
        this.#waiting = [...locked, ...this.#waiting.slice(batch.length)];
        left -= batch.length - locked.length;
        this.#most = Math.min(this.#most + Math.ceil(maxBatch / 8), maxBatch);
        if (locked.length === batch.length) return;
      } catch (error) {
        // A temporary failure halves the limit too: a batch that timed out would do so again, but half of it may not.
        this.#most = Math.ceil(batch.length / 2);
        if (isUnavailable(error) || isTemporaryFailure(error)) throw error;
        if (batch.length > 1) continue;
        this.#waiting = this.#waiting.slice(1);
        left--;
        refused(batch[0]!, error);
      }
    }
  }
}
