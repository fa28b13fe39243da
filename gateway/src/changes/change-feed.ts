import { type Bus, type Database, type Logger, type Sql, withTimeout } from '@customer-platform/service-kit';
import { changesAfter, latestChange, recordChange } from './changes.sql.ts';

const topic = 'gateway-changes';
const pollMs = 500;
/** A poll that takes longer counts as failed: the database is taken to be away. */
const pollTimeoutMs = 2_000;
const batchSize = 1_000;
/** Longer than any transaction may take from recording a change to its commit. */
const longestCommitMs = 60_000;

/**
 * Follows the numbered changes of accounts and keys: hears of them on the bus as they are committed, and looks every
 * half second besides, so that losing the bus delays a revocation by that much and no more.
 */
export class ChangeFeed {
  /** Grows with every change that was heard: what was read before a change is told by it from what was read after. */
  version = 0;
  /** Whether the last look at the database failed. */
  isDatabaseAway = true;
  /** When a look last succeeded, on the monotonic clock. */
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
   * Says after a commit that there is a change: every gateway looks at once. This one forgets before the change is
   * answered, so that who made it meets it with the next request.
   */
  announce(): void {
    this.version++;
    this.#forget(new Set(this.#begunHere.keys()));
    // A change that is begun may be another's that has yet to commit: it stays until it must be over.
    const overMs = performance.now() - longestCommitMs;
    for (const [accountId, begunMs] of this.#begunHere) if (begunMs < overMs) this.#begunHere.delete(accountId);
    this.#bus.announce(topic, '');
    this.pollNow();
  }

  /** Looks now; a call while a look is under way is followed by one more. */
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
      if (this.isDatabaseAway) this.#log.info('the database of accounts and keys answers');
      this.isDatabaseAway = false;
      this.lastGoodMs = performance.now();
    } catch (error) {
      if (!this.isDatabaseAway) this.#log.warn({ err: error }, 'the database is away; known keys work on for 60 s');
      this.isDatabaseAway = true;
    }
  }

  async #read(): Promise<void> {
    if (this.#number === undefined) {
      this.#number = await withTimeout(pollTimeoutMs, latestChange(this.#sql));
      return;
    }
    const changes = await withTimeout(pollTimeoutMs, changesAfter(this.#sql, this.#number, batchSize));
    if (changes.length === 0) return;
    // Numbers have no gaps: where one shows, changes were deleted before this gateway had seen them.
    const isComplete = changes[0]!.number === this.#number + 1;
    this.version++;
    this.#forget(isComplete ? new Set(changes.map((change) => change.account_id)) : 'all');
    this.#number = changes.at(-1)!.number;
    if (changes.length === batchSize) this.#again = true;
  }
}
