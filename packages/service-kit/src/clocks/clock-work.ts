import type { ClockLook } from '@customer-platform/contracts/core';
import type { Database } from '../database/database.ts';
import type { Pauses } from '../queues/pauses.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { accountsDue, type ClockedRows, lookAt, selectEvents } from './clocked-rows.sql.ts';
import type { Clocks } from './clocks.ts';

/** Pause after a look at all clocks: `factor` times its duration, within limits in milliseconds. There may be thousands of clocks. */
const pause = { leastMs: 1_000, factor: 20, mostMs: 30_000 };
const slowestRetryMs = 5_000;
/** Time in milliseconds within which wakes are gathered into one look. */
const gatherMs = 5;
/** Maximum number of consecutive rounds for one account before others get their turn. */
const maxRounds = 10;

/** Due work of a module that follows account clocks. */
export interface ClockedWork {
  /** The queue by which operators pause the work. */
  queue: string | undefined;
  rows: ClockedRows;
  /** Takes an account's due work by its clock, up to one round. Returns whether more may be due. */
  take(accountId: string): Promise<boolean>;
}

/** A durable consumer that account clocks wait for. */
interface ClockedConsumer {
  queue: string;
  /** Returns whether the consumer has finished all events up to a stream position. */
  hasPassed(position: number): Promise<boolean>;
}

/** All due work of one service's process that follows account clocks. Takes due work and says what a clock must wait for. */
export class ClockWork {
  readonly #sql: Database;
  readonly #clocks: Clocks;
  readonly #pauses: Pauses;
  readonly #log: Logger;
  readonly #works = new Set<ClockedWork>();
  readonly #consumers = new Set<ClockedConsumer>();
  readonly #loop: WakeLoop;
  /** Work in progress, each with the accounts to look at once it ends. */
  readonly #taking = new Map<ClockedWork, { ended: Promise<void>; missed: Set<string> }>();
  /** Accounts to look at next. */
  readonly #woken = new Set<string>();
  #nextLookMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;

  constructor(sql: Database, { clocks, pauses, log }: { clocks: Clocks; pauses: Pauses; log: Logger }) {
    this.#sql = sql;
    this.#clocks = clocks;
    this.#pauses = pauses;
    this.#log = log;
    const everyMs = () =>
      clocks.hasAny ? Math.max(0, this.#nextLookMs - performance.now()) : Number.POSITIVE_INFINITY;
    this.#loop = new WakeLoop('clock work', { everyMs, gatherMs, slowestRetryMs, log }, () => this.#takeDue());
    clocks.onMove((accountId) => this.wake(accountId));
  }

  /** Registers work; returns a function that removes it. */
  register(work: ClockedWork): () => void {
    this.#works.add(work);
    return () => this.#works.delete(work);
  }

  /** Registers a consumer; returns a function that removes it. */
  registerConsumer(consumer: ClockedConsumer): () => void {
    this.#consumers.add(consumer);
    return () => this.#consumers.delete(consumer);
  }

  /** Looks soon for due work of an account, by default the one whose work is in progress. */
  wake(accountId = this.#clocks.active): void {
    if (accountId === undefined || !this.#clocks.ownerOf(accountId)) return;
    this.#woken.add(accountId);
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
    await Promise.all(this.#taking.values().map(({ ended }) => ended));
  }

  /**
   * Returns what an account's clock must wait for, its next due time, and its newest event's sequence. The clock waits for unpublished
   * events, for due or running work, and for events up to `position` that consumers have not finished. With `position` null it ignores consumers.
   * Paused work holds no clock up.
   */
  async look(account: string, position: number | null): Promise<ClockLook> {
    const consumers = [...this.#consumers].filter(({ queue }) => position !== null && !this.#pauses.of(queue).isWhole);
    const behind = consumers.map(async (one) => ((await one.hasPassed(position!)) ? [] : one.queue));
    const waitsFor = (await Promise.all(behind)).flat();
    // After the consumers, so that events they published are included.
    const { mark, queues } = await selectEvents(this.#sql, account);
    waitsFor.push(...queues.filter((queue) => !this.#isPaused(queue, account)));
    const now = this.#clocks.nowOf(account);
    const looks = [...this.#works].flatMap(({ queue, rows }) => {
      if (rows.afterMs !== undefined || this.#isPaused(queue, account)) return [];
      const { endpoints } = this.#pauses.of(queue);
      return { name: queue ?? rows.name, rows, at: { account, now, endpoints } };
    });
    const found = await lookAt(this.#sql, looks);
    const busy = found.filter(({ due, running }) => due || running).map(({ name }) => name);
    const times = found.flatMap(({ next }) => next?.getTime() ?? []);
    if (busy.length > 0) this.wake(account);
    return { waitsFor: [...waitsFor, ...busy], nextMs: times.length > 0 ? Math.min(...times) : null, mark };
  }

  #isPaused(queue: string | undefined, accountId: string): boolean {
    const { isWhole, accounts } = this.#pauses.of(queue);
    return isWhole || accounts.includes(accountId);
  }

  /** Takes due work of woken accounts or, from time to time, of all accounts with clocks. Slow work does not delay other work. */
  async #takeDue(): Promise<undefined> {
    if (!this.#clocks.hasAny) return;
    const beganMs = performance.now();
    const looksAtAll = beganMs >= this.#nextLookMs;
    const woken = [...this.#woken];
    this.#woken.clear();
    for (const { missed } of this.#taking.values()) for (const accountId of woken) missed.add(accountId);
    const works = [...this.#works].filter((work) => !this.#taking.has(work) && !this.#pauses.of(work.queue).isWhole);
    try {
      const due = await accountsDue(this.#sql, works, this.#clocks.real(), looksAtAll ? undefined : woken);
      for (const [work, accounts] of due) {
        const missed = new Set<string>();
        this.#taking.set(work, { ended: this.#take(work, accounts, missed), missed });
      }
    } finally {
      const endedMs = performance.now();
      const waitMs = Math.min(Math.max(pause.leastMs, (endedMs - beganMs) * pause.factor), pause.mostMs);
      if (looksAtAll) this.#nextLookMs = endedMs + waitMs;
    }
  }

  /** Takes due work, one account after the other, then wakes the accounts that may have more. A failed account does not stop the rest. */
  async #take(work: ClockedWork, accounts: readonly { account_id: string }[], missed: Set<string>): Promise<void> {
    const { queue, rows } = work;
    for (const { account_id: accountId } of accounts) {
      try {
        let hasMore = !this.#isPaused(queue, accountId);
        for (let round = 0; hasMore && round < maxRounds && !this.#isStopping; round++)
          hasMore = await this.#clocks.by(accountId, () => work.take(accountId));
        if (hasMore) missed.add(accountId);
      } catch (error) {
        const facts = { err: error, account: accountId, work: queue ?? rows.name };
        this.#log.warn(facts, 'due work of a sandbox clock failed and is retried');
      }
    }
    // Waits until the caller has added the work to `#taking`, even if all accounts are paused.
    await Promise.resolve();
    this.#taking.delete(work);
    for (const accountId of missed) this.wake(accountId);
  }
}
