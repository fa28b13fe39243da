import { isTemporaryFailure, isUnavailable } from '../database.ts';
import type { Logger } from '../logging.ts';
import { WakeLoop } from '../wake-loop.ts';

const slowestRetryMs = 2_000;
/** It writes when something is added; this is for what a failed round left. */
const everyMs = 60_000;

export interface BatchWriterOptions<Item> {
  /** Names the writer in the log. */
  name: string;
  log: Logger;
  /** Items at most in one call of `write`. */
  maxBatch: number;
  /** Returns how many of the first items may be written together, 1 at least; all unless given. */
  together?(items: readonly Item[]): number;
  /** Writes items, all or none of them. */
  write(items: readonly Item[]): Promise<void>;
  /** Called with one item whose write fails alone, for another reason than the state of the database and of other services. */
  refused(item: Item, error: unknown): void;
}

/**
 * Writes what is added in sets: all that came since the last transaction in one, so that many commit together. What cannot be written now
 * is kept and written later, in its order; an item that cannot be written at all keeps no other from being written.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  readonly #loop: WakeLoop;
  #waiting: Item[] = [];

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options;
    const { name, log } = options;
    this.#loop = new WakeLoop(name, { everyMs, slowestRetryMs, log }, () => this.#writeAll());
  }

  /** Number of items that wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    this.#loop.wake();
  }

  /** Writes what is left; throws where the database does not take it now. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#writeAll();
  }

  async #writeAll(): Promise<undefined> {
    const { maxBatch, together = (items) => items.length, write, refused } = this.#options;
    for (let most = maxBatch; this.#waiting.length > 0; ) {
      const first = this.#waiting.slice(0, most);
      const batch = first.slice(0, together(first));
      try {
        await write(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        most = maxBatch;
      } catch (error) {
        if (isUnavailable(error) || isTemporaryFailure(error)) throw error;
        most = Math.ceil(batch.length / 2);
        if (batch.length > 1) continue;
        this.#waiting = this.#waiting.slice(1);
        refused(batch[0]!, error);
      }
    }
  }
}
