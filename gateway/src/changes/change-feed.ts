import { type Bus, type Database, type Logger, type Sql, WakeLoop, withTimeout } from '@customer-platform/service-kit';
import { changesFrom, latestChange, recordChange, type SeenChange } from './changes.sql.ts';

const topic = 'changes';
const pollMs = 700;
/** A poll that takes longer fails: the database counts as unavailable. */
const pollTimeoutMs = 2_000;
const batchSize = 1_000;
/** Longer than any transaction may take from recording a change to its commit. */
const longestCommitMs = 60_000;

/** Drops what is cached of accounts, whose keys then have to be read again. */
type Forget = (accountIds: ReadonlySet<string> | 'all') => void;

/**
 * Follows the numbered changes of accounts and keys: notified over the bus as they commit, and polling every 0.7
 * seconds besides, so that without the bus a revocation is delayed by no more than that.
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
  readonly #begunHere = new Map<string, number>();
  #forget: Forget = () => undefined;
  #last: SeenChange | undefined;
  #loop: WakeLoop | undefined;

  constructor(sql: Database, bus: Bus, log: Logger) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
  }

  /** Polls once, and from then on until stopped. */
  async start(forget: Forget): Promise<void> {
    this.#forget = forget;
    await this.#poll();
    const pace = { everyMs: pollMs, slowestRetryMs: pollMs, log: this.#log };
    const loop = new WakeLoop('gateway-changes', pace, () => this.#poll());
    this.#loop = loop;
    this.#bus.onPeers(topic, () => loop.wake());
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
    this.#bus.tell(topic);
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Reads changes; returns whether more may be waiting. Never throws. */
  async #poll(): Promise<boolean> {
    try {
      const hasMore = await this.#read();
      if (this.isDatabaseUnavailable) this.#log.info('database available');
      this.isDatabaseUnavailable = false;
      this.lastGoodMs = performance.now();
      return hasMore;
    } catch (error) {
      if (!this.isDatabaseUnavailable) this.#log.warn({ err: error }, 'database unavailable; known keys work for 60 s');
      this.isDatabaseUnavailable = true;
      return false;
    }
  }

  async #read(): Promise<boolean> {
    const last = this.#last;
    if (!last) {
      this.#last = await withTimeout(pollTimeoutMs, latestChange(this.#sql));
      return false;
    }
    const { latest, changes } = await withTimeout(pollTimeoutMs, changesFrom(this.#sql, last.number, batchSize));
    const [first] = changes;
    const isAgain = first?.number === last.number;
    // A standby that took over without the last changes gives their numbers to others.
    const isOther = latest < last.number || (isAgain && last.at !== null && first.at.getTime() !== last.at.getTime());
    if (isOther) {
      // Read before all is forgotten: what is read of keys after that is as new.
      this.#last = changes.at(-1) ?? (await withTimeout(pollTimeoutMs, latestChange(this.#sql)));
      this.version++;
      this.#forget('all');
      return changes.length === batchSize;
    }
    const later = isAgain ? changes.slice(1) : changes;
    if (later.length === 0) return false;
    // Numbers have no gaps: one means that changes were deleted before this gateway saw them.
    const isComplete = later[0]!.number === last.number + 1;
    this.version++;
    this.#forget(isComplete ? new Set(later.map((change) => change.account_id)) : 'all');
    this.#last = later.at(-1)!;
    return changes.length === batchSize;
  }
}
