import { type Bus, type Database, type Logger, type Sql, withTimeout } from '@customer-platform/service-kit';
import { changesAfter, latestChange, recordChange } from './changes.sql.ts';

const topic = 'gateway-changes';
const pollMs = 500;
/** A poll that takes longer fails: the database counts as unavailable. */
const pollTimeoutMs = 2_000;
const batchSize = 1_000;
/** Longer than any transaction may take from recording a change to its commit. */
const longestCommitMs = 60_000;

/**
 * Follows the numbered changes of accounts and keys: notified over the bus as they commit, and polling every half
 * second besides, so that without the bus a revocation is delayed by no more than that.
 */
export class ChangeFeed {
  /** Grows with every change that is seen: tells what was read before a change from what was read after it. */
  version = 0;
  /** True if the last poll failed. */
  isDatabaseUnavailable = true;
  /** Time of the last successful poll, on the monotonic clock. */
  lastGoodMs = Number.NEGATIVE_INFINITY;
  readonly #sql: Database;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #forget: (accountIds: ReadonlySet<string> | 'all') => void;
  readonly #begunHere = new Map<string, number>();
  #number: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  /** `forget` is called with the accounts whose keys have to be read again. */
  constructor(sql: Database, bus: Bus, log: Logger, forget: (accountIds: ReadonlySet<string> | 'all') => void) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
    this.#forget = forget;
  }

  async start(): Promise<void> {
    this.#bus.listen(topic, () => this.pollNow());
    await this.#poll();
    this.#schedule();
  }

  /** Records a change of an account's keys in the transaction that makes it; `announce` follows the commit. */
  async record(tx: Sql, accountId: string): Promise<void> {
    this.#begunHere.set(accountId, performance.now());
    await recordChange(tx, accountId);
  }

  /**
   * Announces a change after its commit: every gateway polls at once. This one forgets before it responds, so that the
   * caller's next request sees the change.
   */
  announce(): void {
    this.version++;
    this.#forget(new Set(this.#begunHere.keys()));
    // Another transaction that recorded a change may not have committed yet: keep it until it must have.
    const overMs = performance.now() - longestCommitMs;
    for (const [accountId, begunMs] of this.#begunHere) if (begunMs < overMs) this.#begunHere.delete(accountId);
    this.#bus.announce(topic, '');
    this.pollNow();
  }

  /** Polls now; a call during a poll causes one more. */
  pollNow(): void {
    this.#again = true;
    this.#polling ??= this.#pollUntilDone();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#polling;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.pollNow();
      this.#schedule();
    }, pollMs);
  }

  async #pollUntilDone(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#poll();
    }
    this.#polling = undefined;
  }

  async #poll(): Promise<void> {
    try {
      await this.#read();
      if (this.isDatabaseUnavailable) this.#log.info('database available');
      this.isDatabaseUnavailable = false;
      this.lastGoodMs = performance.now();
    } catch (error) {
      if (!this.isDatabaseUnavailable) this.#log.warn({ err: error }, 'database unavailable; known keys work for 60 s');
      this.isDatabaseUnavailable = true;
    }
  }

  async #read(): Promise<void> {
    if (this.#number === undefined) {
      this.#number = await withTimeout(pollTimeoutMs, latestChange(this.#sql));
      return;
    }
    const changes = await withTimeout(pollTimeoutMs, changesAfter(this.#sql, this.#number, batchSize));
    if (changes.length === 0) return;
    // Numbers have no gaps: one means that changes were deleted before this gateway saw them.
    const isComplete = changes[0]!.number === this.#number + 1;
    this.version++;
    this.#forget(isComplete ? new Set(changes.map((change) => change.account_id)) : 'all');
    this.#number = changes.at(-1)!.number;
    if (changes.length === batchSize) this.#again = true;
  }
}
