import { AsyncLocalStorage } from 'node:async_hooks';
import type { Envelope } from '@customer-platform/contracts/core';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { instantOfUuidV7 } from '../values/timed-ids.ts';
import { selectClocks, writeClock } from './clocks.sql.ts';

/** Poll interval for moves that this process missed; `refresh` reads them at once. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;

/**
 * The clocks of one process: real time, and the sandbox clock of each advanced account. A sandbox clock is a lead over real time in milliseconds.
 * Clocks only move forward, so a repeated or late move does no harm. Keeps one entry per advanced account.
 */
export class Clocks {
  /** The real time. */
  readonly real: () => Date;
  readonly #aheadMs = new Map<string, number>();
  /** The account whose clock the current work follows, and the minimum lead given by its caller. */
  readonly #active = new AsyncLocalStorage<{ account: string; aheadMs: number } | undefined>();
  readonly #watchers = new Set<(accountId: string) => void>();
  #loop: WakeLoop | undefined;

  constructor(real: () => Date = () => new Date()) {
    this.real = real;
  }

  /** Reads the clocks and keeps polling them. Throws if the database is unavailable. */
  async start(sql: Database, log: Logger): Promise<void> {
    await this.#read(sql);
    this.#loop = new WakeLoop('clocks', { everyMs: pollMs, slowestRetryMs, log }, () => this.#read(sql));
  }

  /** Reads the clocks at once, since moves may have been missed while the bus was away. */
  refresh(): void {
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** Returns the current account's time, now or at a real instant. Without a sandbox clock it is real time. */
  readonly now = (real = this.real()): Date => {
    const account = this.active;
    return account === undefined ? real : this.nowOf(account, real);
  };

  /** Returns whether any account has a sandbox clock. */
  get hasAny(): boolean {
    return this.#aheadMs.size > 0;
  }

  /** Returns the account whose sandbox clock the current work follows; undefined for real time. */
  get active(): string | undefined {
    return this.#active.getStore()?.account;
  }

  /** Returns the account if it has a sandbox clock; undefined for all others, which share real time. */
  ownerOf(accountId: string): string | undefined {
    return this.#aheadMs.has(accountId) ? accountId : undefined;
  }

  /** Returns the time of an account, now or at a real instant. */
  nowOf(accountId: string, real = this.real()): Date {
    return new Date(real.getTime() + this.aheadOf(accountId));
  }

  /** Returns an account's lead in milliseconds, as far as this process or the current work knows. */
  aheadOf(accountId: string): number {
    const active = this.#active.getStore();
    const known = this.#aheadMs.get(accountId) ?? 0;
    return active?.account === accountId ? Math.max(known, active.aheadMs) : known;
  }

  /**
   * Returns the lead of an event's account: the larger of the known lead and the event's own. The publisher may know of a later move. An event's
   * timestamp is in the account's time and its id in real time. Only sandbox events carry a lead.
   */
  leadOfEvent({ id, timestamp, account, mode }: Pick<Envelope, 'id' | 'timestamp' | 'account' | 'mode'>): number {
    const known = this.aheadOf(account);
    if (mode !== 'test') return known;
    const sentAtMs = Math.max(this.real().getTime(), instantOfUuidV7(id) ?? Number.POSITIVE_INFINITY);
    return Math.max(known, Date.parse(timestamp) - sentAtMs || 0);
  }

  /**
   * Runs `work` by an account's clock, which everything inside reads as the time. `leadMs` is the lead that the caller knew, so that no effect
   * precedes its cause even if this process has missed a move.
   */
  by<Result>(accountId: string | undefined, work: () => Result, leadMs = 0): Result {
    const aheadMs = accountId === undefined ? 0 : Math.max(leadMs, this.aheadOf(accountId));
    const active = accountId !== undefined && aheadMs > 0 ? { account: accountId, aheadMs } : undefined;
    return active === this.#active.getStore() ? work() : this.#active.run(active, work);
  }

  /** Records a clock's lead if it is larger than the known one, and calls the watchers. */
  recordLead(accountId: string, aheadMs: number): void {
    if (aheadMs <= (this.#aheadMs.get(accountId) ?? 0)) return;
    this.#aheadMs.set(accountId, aheadMs);
    for (const moved of this.#watchers) moved(accountId);
  }

  /** Writes a clock's lead to this service's database, then records it. */
  async move(sql: Database, accountId: string, aheadMs: number): Promise<void> {
    await writeClock(sql, accountId, aheadMs);
    this.recordLead(accountId, aheadMs);
  }

  /** Calls `moved` with the account after each move of a clock; returns a function that stops the calls. */
  onMove(moved: (accountId: string) => void): () => void {
    this.#watchers.add(moved);
    return () => this.#watchers.delete(moved);
  }

  async #read(sql: Database): Promise<undefined> {
    for (const { account_id, ahead_ms } of await selectClocks(sql)) this.recordLead(account_id, ahead_ms);
  }
}
