import { AsyncLocalStorage } from 'node:async_hooks';
import type { Envelope } from '@customer-platform/contracts/core';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { instantOfUuidV7 } from '../values/timed-ids.ts';
import { selectClocks, writeClock } from './clocks.sql.ts';

/** Poll interval for moves that this process did not hear of; `refresh` reads them at once. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;

/**
 * The clocks of one process: the real time, and that of each sandbox account which was advanced, as many milliseconds ahead of it as all
 * services know. Clocks only move forward, so hearing of a move twice or late does no harm. There is one entry for each advanced sandbox.
 */
export class Clocks {
  /** The real time. */
  readonly real: () => Date;
  readonly #aheadMs = new Map<string, number>();
  /** The account by whose clock work goes, and its least lead, whatever this process knows. */
  readonly #active = new AsyncLocalStorage<{ account: string; aheadMs: number } | undefined>();
  readonly #watchers = new Set<(accountId: string) => void>();
  #loop: WakeLoop | undefined;

  constructor(real: () => Date = () => new Date()) {
    this.real = real;
  }

  /** Reads the clocks and keeps up with them. Throws where the database is unavailable. */
  async start(sql: Database, log: Logger): Promise<void> {
    await this.#read(sql);
    this.#loop = new WakeLoop('clocks', { everyMs: pollMs, slowestRetryMs, log }, () => this.#read(sql));
  }

  /** Reads the clocks at once, since the bus was away and moves may have been missed. */
  refresh(): void {
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Returns the time of the account whose work is under way, now or at a real instant; the real time where it has no clock of its own. */
  readonly now = (real = this.real()): Date => {
    const account = this.active;
    return account === undefined ? real : this.nowOf(account, real);
  };

  /** Returns whether any account has a clock of its own. */
  get hasAny(): boolean {
    return this.#aheadMs.size > 0;
  }

  /** Returns the account by whose own clock the work under way goes; undefined: by the real time. */
  get active(): string | undefined {
    return this.#active.getStore()?.account;
  }

  /** Returns the account where it has a clock of its own; undefined for all others, which share the real time. */
  ownerOf(accountId: string): string | undefined {
    return this.#aheadMs.has(accountId) ? accountId : undefined;
  }

  /** Returns the time of an account, now or at a real instant. */
  nowOf(accountId: string, real = this.real()): Date {
    return new Date(real.getTime() + this.aheadOf(accountId));
  }

  /** Returns how many milliseconds an account's clock is ahead, as far as this process or the work under way knows. */
  aheadOf(accountId: string): number {
    const active = this.#active.getStore();
    const known = this.#aheadMs.get(accountId) ?? 0;
    return active?.account === accountId ? Math.max(known, active.aheadMs) : known;
  }

  /**
   * Returns how far ahead the account of an event is: as this process knows, or as the event says, whose timestamp is in the account's time
   * and whose id in real time. The publisher may know of a later move. Only a sandbox's clock is ahead.
   */
  toldBy({ id, timestamp, account, mode }: Pick<Envelope, 'id' | 'timestamp' | 'account' | 'mode'>): number {
    const known = this.aheadOf(account);
    if (mode !== 'test') return known;
    const sentAtMs = Math.max(this.real().getTime(), instantOfUuidV7(id) ?? Number.POSITIVE_INFINITY);
    return Math.max(known, Date.parse(timestamp) - sentAtMs || 0);
  }

  /**
   * Runs `work` by the clock of an account: all that it calls and begins reads that as the time. `toldMs` is the lead that its caller knew:
   * nothing that work leads to is before its cause, also where this process has yet to hear of a move.
   */
  by<Result>(accountId: string | undefined, work: () => Result, toldMs = 0): Result {
    const aheadMs = accountId === undefined ? 0 : Math.max(toldMs, this.aheadOf(accountId));
    const active = accountId !== undefined && aheadMs > 0 ? { account: accountId, aheadMs } : undefined;
    return active === this.#active.getStore() ? work() : this.#active.run(active, work);
  }

  /** Notes how far a clock is ahead, and calls those that watch. */
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

  async #read(sql: Database): Promise<undefined> {
    for (const { account_id, ahead_ms } of await selectClocks(sql)) this.learn(account_id, ahead_ms);
  }
}
