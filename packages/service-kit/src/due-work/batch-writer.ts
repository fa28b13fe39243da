import { setTimeout as sleep } from 'node:timers/promises';
import { isTemporaryFailure, isUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

const slowestRetryMs = 2_000;
/** It writes when something is added; this is for what a failed round left. */
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
  /** Returns how many of the first items may be written together, 1 at least; all unless given. */
  together?(items: readonly Item[]): number;
  /** Writes items, all or none of them, but those that it returns: another transaction has the lock that they need. */
  write(items: readonly Item[]): Promise<readonly Item[]>;
  /** Names the lock that an item needs: of items that need the same, none overtakes another. All need one unless given. */
  lockOf?(item: Item): string;
  /** Called with one item whose write fails alone, for another reason than the state of the database and of other services. */
  refused(item: Item, error: unknown): void;
}

/**
 * Writes what is added in sets: all that came since the last transaction in one, so that many commit together. What cannot be written now
 * is kept and written later, in its order; an item that cannot be written at all, or whose lock another transaction has, keeps no other
 * from being written.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  readonly #loop: WakeLoop;
  #waiting: Item[] = [];
  /** Items whose lock another transaction had when it was last tried, and those that came behind them. */
  #setAside: Item[] = [];
  readonly #locked = new Set<string>();
  #retry: NodeJS.Timeout | undefined;
  #isRetryDue = false;
  /** Items at most in the next call of `write`: half as many after a failure, an eighth of the most more after a success. */
  #most: number;

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options;
    this.#most = options.maxBatch;
    const { name, log } = options;
    this.#loop = new WakeLoop(name, { everyMs, slowestRetryMs, log }, () => this.#writeAll());
  }

  /** Number of items that wait to be written, but for those that are set aside. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(item: Item): void {
    if (this.#locked.has(this.#lockOf(item))) {
      this.#setAside.push(item);
      return;
    }
    this.#waiting.push(item);
    this.#loop.wake();
  }

  /** Writes what is left, for 5 s where it needs locks of others; throws where the database does not take it now. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    const until = performance.now() + stopMs;
    for (;;) {
      this.#isRetryDue = true;
      await this.#writeAll();
      clearTimeout(this.#retry);
      if (this.#setAside.length === 0) return;
      if (performance.now() >= until) break;
      await sleep(lockedRetryMs);
    }
    const left = this.#setAside.length;
    throw new Error(`${this.#options.name}: ${left} not written, since other transactions hold their locks`);
  }

  async #writeAll(): Promise<undefined> {
    const { maxBatch, together = (items) => items.length, write, refused } = this.#options;
    for (;;) {
      // Between two writes alone: the first items are those under way.
      if (this.#isRetryDue) this.#takeBack();
      if (this.#waiting.length === 0) return;
      const first = this.#waiting.slice(0, this.#most);
      const batch = first.slice(0, together(first));
      try {
        const locked = await write(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        if (locked.length > 0) this.#putAside(locked);
        this.#most = Math.min(this.#most + Math.ceil(maxBatch / 8), maxBatch);
      } catch (error) {
        // Also where it may be written later: what took longer than a statement may take does so again, but half of it perhaps does not.
        this.#most = Math.ceil(batch.length / 2);
        if (isUnavailable(error) || isTemporaryFailure(error)) throw error;
        if (batch.length > 1) continue;
        this.#waiting = this.#waiting.slice(1);
        refused(batch[0]!, error);
      }
    }
  }

  #lockOf(item: Item): string {
    return this.#options.lockOf?.(item) ?? '';
  }

  /** Sets items aside for a moment, and those that wait behind them for the same locks. */
  #putAside(items: readonly Item[]): void {
    for (const item of items) this.#locked.add(this.#lockOf(item));
    const isLocked = (item: Item) => this.#locked.has(this.#lockOf(item));
    this.#setAside.push(...items, ...this.#waiting.filter(isLocked));
    this.#waiting = this.#waiting.filter((item) => !isLocked(item));
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#isRetryDue = true;
      this.#loop.wake();
    }, lockedRetryMs);
  }

  /** Has what was set aside written before what came since. */
  #takeBack(): void {
    this.#isRetryDue = false;
    this.#locked.clear();
    this.#waiting = [...this.#setAside, ...this.#waiting];
    this.#setAside = [];
  }
}
