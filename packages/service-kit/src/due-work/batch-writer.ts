import { setTimeout as sleep } from 'node:timers/promises';
import { isTemporaryFailure, isUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

const slowestRetryMs = 2_000;
/** It writes when something is added. */
const everyMs = 60_000;
/** Wait before items whose lock another transaction has are tried again. */
const lockedRetryMs = 50;
/** Time that `stop` has to write those. */
const stopMs = 5_000;

export interface BatchWriterOptions<Item> {
  /** Names the writer in the log. */
  name: string;
  log: Logger;
  /** Items at most in one call of `write`. */
  maxBatch: number;
  /** Least time between rounds of writing, in milliseconds; what comes alone is written at once. */
  gatherMs?: number;
  /** Returns how many of the first items may be written together, 1 at least; all unless given. */
  together?(items: readonly Item[]): number;
  /** Writes items, all or none of them, but those that it returns: another transaction has the lock that they need, and all that need it are returned. */
  write(items: readonly Item[]): Promise<readonly Item[]>;
  /** Called with one item whose write fails alone, for another reason than the state of the database and of other services. */
  refused(item: Item, error: unknown): void;
}

/**
 * Writes what is added in sets: all that came since the last transaction, or within `gatherMs`, in one, so that many commit together. What cannot be written now
 * is kept and written later, in its order; an item that cannot be written at all keeps no other from being written, nor
 * does one whose lock another transaction has, unless a whole batch of them does.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  readonly #loop: WakeLoop;
  #waiting: Item[] = [];
  /** Items at most in the next call of `write`: half as many after a failure, an eighth of the most more after a success. */
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

  /** Writes what is left, for 5 s where it needs locks of others; throws where the database does not take it now. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const until = performance.now() + stopMs; ; await sleep(lockedRetryMs)) {
      await this.#writeAll();
      if (this.#waiting.length === 0) return;
      if (performance.now() >= until) break;
    }
    const left = this.#waiting.length;
    throw new Error(`${this.#options.name}: ${left} not written, since other transactions hold their locks`);
  }

  async #writeAll(): Promise<undefined> {
    const { maxBatch, together = (items) => items.length, write, refused } = this.#options;
    // What is added meanwhile gathers for the next round.
    for (let left = this.#waiting.length; left > 0; ) {
      const first = this.#waiting.slice(0, Math.min(left, this.#most));
      const batch = first.slice(0, together(first));
      try {
        const locked = await write(batch);
        // None overtakes another that needs the same lock.
        this.#waiting = [...locked, ...this.#waiting.slice(batch.length)];
        left -= batch.length - locked.length;
        this.#most = Math.min(this.#most + Math.ceil(maxBatch / 8), maxBatch);
        if (locked.length === batch.length) return;
      } catch (error) {
        // Also where it may be written later: what took longer than a statement may take does so again, but half of it perhaps does not.
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
