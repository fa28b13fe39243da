import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../database.ts';
import type { Logger } from '../logging.ts';
import { WakeLoop } from '../wake-loop.ts';
import { selectMovedClocks, writeClock } from './clocks.sql.ts';

/** Poll interval for clocks whose move this process was not told of; `refresh` reads them at once. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;
/** Moves may commit later than others that are read already: so far back each poll looks again. */
const overlapMs = 30_000;

/**
 * The clocks of one process: the real time, and that of each sandbox account which was advanced, as many milliseconds ahead of it as all
 * services know. Clocks only move forward, so what is learned twice or late does no harm. There is one entry for each advanced sandbox.
 */
export class Clocks {
  /** The real time. */
  readonly real: () => Date;
  readonly #aheadMs = new Map<string, number>();
  /** The account by whose clock the work under way goes. */
  readonly #active = new AsyncLocalStorage<string | undefined>();
  readonly #watchers = new Set<(accountId: string) => void>();
  #seenUntil = new Date(0);
  #loop: WakeLoop | undefined;

  constructor(real: () => Date = () => new Date()) {
    this.real = real;
  }

  /** Reads the clocks and keeps up with them. Throws where the database is unavailable. */
  async start(sql: Database, log: Logger): Promise<void> {
    await this.#read(sql);
    this.#loop = new WakeLoop('clocks', { everyMs: pollMs, slowestRetryMs, log }, () => this.#read(sql));
  }

  /** Has them read at once, where moves may have been missed. */
  refresh(): void {
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Returns the time of the account whose work is under way; the real time where it has no clock of its own, or is nobody's. */
  readonly now = (): Date => {
    const real = this.real();
    return this.#aheadMs.size === 0 ? real : new Date(real.getTime() + this.#aheadOf(this.#active.getStore()));
  };

  /** Returns whether any account has a clock of its own. */
  get hasAny(): boolean {
    return this.#aheadMs.size > 0;
  }

  /** Returns the account by whose own clock the work under way goes; undefined: by the real time. */
  get active(): string | undefined {
    return this.#active.getStore();
  }

  /** Returns the account where it has a clock of its own; undefined for all others, whose time is one. */
  ownerOf(accountId: string): string | undefined {
    return this.#aheadMs.has(accountId) ? accountId : undefined;
  }

  /** Returns the time of an account. */
  nowOf(accountId: string): Date {
    return this.inTimeOf(accountId, this.real());
  }

  /** Returns a real instant in the time of an account. */
  inTimeOf(accountId: string, real: Date): Date {
    return new Date(real.getTime() + this.#aheadOf(accountId));
  }

  /** Returns `now`, which is the time of the work under way, in the time of an account: the same where the work is its own. */
  translated(now: Date, accountId: string): Date {
    if (this.#aheadMs.size === 0) return now;
    const active = this.#active.getStore();
    return active === accountId ? now : new Date(now.getTime() - this.#aheadOf(active) + this.#aheadOf(accountId));
  }

  /** Does `work` by the clock of an account: all that it calls and begins reads that as the time. */
  by<Result>(accountId: string | undefined, work: () => Result): Result {
    const owner = accountId === undefined ? undefined : this.ownerOf(accountId);
    return this.#active.getStore() === owner ? work() : this.#active.run(owner, work);
  }

  /** Splits items by the clock that they go by: those without one of their own in one part. The order within a part stays. */
  split<Item>(items: readonly Item[], accountOf: (item: Item) => string): Item[][] {
    if (this.#aheadMs.size === 0) return [[...items]];
    return [...Map.groupBy(items, (item) => this.ownerOf(accountOf(item))).values()];
  }

  /** Takes note of how far a clock is ahead, and tells those that watch. */
  learn(accountId: string, aheadMs: number): void {
    if (aheadMs <= (this.#aheadMs.get(accountId) ?? 0)) return;
    this.#aheadMs.set(accountId, aheadMs);
    for (const moved of this.#watchers) moved(accountId);
  }

  /** The same, once this service's database has it. */
  async move(sql: Database, accountId: string, aheadMs: number): Promise<void> {
    await writeClock(sql, accountId, aheadMs);
    this.learn(accountId, aheadMs);
  }

  /** Calls `moved` after each move of any clock, with its account; returns a function that ends it. */
  onMove(moved: (accountId: string) => void): () => void {
    this.#watchers.add(moved);
    return () => this.#watchers.delete(moved);
  }

  #aheadOf(accountId: string | undefined): number {
    return accountId === undefined ? 0 : (this.#aheadMs.get(accountId) ?? 0);
  }

  async #read(sql: Database): Promise<undefined> {
    const rows = await selectMovedClocks(sql, new Date(this.#seenUntil.getTime() - overlapMs));
    for (const { account_id, ahead_ms, moved_at } of rows) {
      this.learn(account_id, ahead_ms);
      if (moved_at > this.#seenUntil) this.#seenUntil = moved_at;
    }
  }
}
