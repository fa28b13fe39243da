import { type Bus, type Database, type Logger, type Sql, WakeLoop, withTimeout } from '@customer-platform/service-kit';
import { changesFrom, latestChange, recordChange, type SeenChange } from './changes.sql.ts';

const topic = 'changes';
const pollMs = 700;
/** A poll that takes longer fails, and the database counts as unavailable. */
const pollTimeoutMs = 2_000;
const batchSize = 1_000;
/** Longer than any transaction takes between recording a change and its commit. */
const longestCommitMs = 60_000;

/** Drops the cached keys of accounts, which the gateway then reads again. */
type Forget = (accountIds: ReadonlySet<string> | 'all') => void;

/**
 * Follows the numbered changes of accounts and keys. The bus announces each change after its commit. The feed also
 * polls every 0.7 s, which bounds the delay of a revocation without the bus.
 */
export class ChangeFeed {
  /** Grows with every change seen. Distinguishes data read before a change from data read after it. */
  version = 0;
  /** True if the last poll failed. */
  isDatabaseUnavailable = true;
  /** Time of the last successful poll, on the monotonic clock. */
  lastGoodMs = Number.NEGATIVE_INFINITY;
  readonly #sql: Database;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #recordedHere = new Map<string, number>();
  #forget: Forget = () => undefined;
  #last: SeenChange | undefined;
  #loop: WakeLoop | undefined;

  constructor(sql: Database, bus: Bus, log: Logger) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
  }

  /** Polls once, then keeps polling until stopped. */
  async start(forget: Forget): Promise<void> {
    this.#forget = forget;
    await this.#poll();
    const pace = { everyMs: pollMs, slowestRetryMs: pollMs, log: this.#log };
    const loop = new WakeLoop('gateway-changes', pace, () => this.#poll());
    this.#loop = loop;
    this.#bus.onPeerNews(topic, () => loop.wake());
  }

  /** Records a change of an account's keys in its transaction. The caller calls `announce` after the commit. */
  async record(tx: Sql, accountId: string): Promise<void> {
    this.#recordedHere.set(accountId, performance.now());
    await recordChange(tx, accountId);
  }

  /**
   * Announces a change after its commit, so that every gateway polls at once. This gateway drops its cached keys before
   * it responds, so that the caller's next request sees the change.
   */
  announce(): void {
    this.version++;
    this.#forget(new Set(this.#recordedHere.keys()));
    // Another transaction that recorded a change may not have committed yet, so keep its account for 60 s.
    const overMs = performance.now() - longestCommitMs;
    for (const [accountId, begunMs] of this.#recordedHere) if (begunMs < overMs) this.#recordedHere.delete(accountId);
    this.#bus.publishNews(topic);
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Reads changes; returns whether more may exist. Never throws. */
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
    const hasLast = first?.number === last.number;
    // A standby that took over without the last changes assigns their numbers to other changes.
    const isRewound = latest < last.number || (hasLast && last.at !== null && first.at.getTime() !== last.at.getTime());
    if (isRewound) {
      // Read the latest change before dropping all keys: keys read afterwards are at least as new.
      this.#last = changes.at(-1) ?? (await withTimeout(pollTimeoutMs, latestChange(this.#sql)));
      this.version++;
      this.#forget('all');
      return changes.length === batchSize;
    }
    const later = hasLast ? changes.slice(1) : changes;
    if (later.length === 0) return false;
    // Numbers have no gaps, so a gap means that changes were deleted before this gateway saw them.
    const isComplete = later[0]!.number === last.number + 1;
    this.version++;
    this.#forget(isComplete ? new Set(later.map((change) => change.account_id)) : 'all');
    this.#last = later.at(-1)!;
    return changes.length === batchSize;
  }
}
