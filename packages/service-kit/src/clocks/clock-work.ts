import type { ClockLook } from '@customer-platform/contracts/core';
import type { Database } from '../database/database.ts';
import type { Pauses } from '../queues/pauses.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { accountsDue, type ClockedRows, lookAt, selectEvents } from './clocked-rows.sql.ts';
import type { Clocks } from './clocks.ts';

/** Pause after a look at all clocks, in milliseconds, or so many times what the look took: there may be thousands of them. */
const rest = { leastMs: 1_000, factor: 20, mostMs: 30_000 };
const slowestRetryMs = 5_000;
/** Wakes within this time are one look, in milliseconds. */
const gatherMs = 5;
/** Rounds of one account in a row: then the others have their turn. */
const maxRounds = 10;

/** Due work of a module, as the clocks see it. */
export interface ClockedWork {
  /** The queue that operators pause it by. */
  queue: string | undefined;
  rows: ClockedRows;
  /** Takes what is due of one account, by its clock, as far as one round goes; returns whether there may be more. */
  take(accountId: string): Promise<boolean>;
}

/** A durable consumer, as the clocks see it. */
interface Passing {
  queue: string;
  /** Returns whether it has nothing left of what the stream had at a position. */
  hasPassed(position: number): Promise<boolean>;
}

/** All due work of one process's service: takes what is due by the clocks of accounts, and says what their clocks have to wait for. */
export class ClockWork {
  readonly #sql: Database;
  readonly #clocks: Clocks;
  readonly #pauses: Pauses;
  readonly #log: Logger;
  readonly #works = new Set<ClockedWork>();
  readonly #consumers = new Set<Passing>();
  readonly #loop: WakeLoop;
  /** Work that is being taken, side by side, each with the accounts to look at once it has ended. */
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

  /** Puts work on the list; returns a function that takes it off. */
  register(work: ClockedWork): () => void {
    this.#works.add(work);
    return () => this.#works.delete(work);
  }

  /** The same of a consumer. */
  registerConsumer(consumer: Passing): () => void {
    this.#consumers.add(consumer);
    return () => this.#consumers.delete(consumer);
  }

  /** Looks soon at an account, of which something may have become due; by default at the one whose work is under way. */
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
   * Returns what an account's clock has to wait for here: events that are not out yet, or that consumers have left of what the stream had at
   * `position` (null: nothing), and work that is due or under way; and when something is due next. What is paused waits by itself and holds
   * nothing up.
   */
  async look(account: string, position: number | null): Promise<ClockLook> {
    const consumers = [...this.#consumers].filter(({ queue }) => position !== null && !this.#pauses.of(queue).isWhole);
    const behind = consumers.map(async (one) => ((await one.hasPassed(position!)) ? [] : one.queue));
    const waitsFor = (await Promise.all(behind)).flat();
    // After the consumers: what they led to is seen.
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

  /** Takes what is due of the accounts that were woken or, from time to time, of all with clocks. Slow work keeps no other waiting. */
  async #takeDue(): Promise<undefined> {
    if (!this.#clocks.hasAny) return;
    const beganMs = performance.now();
    const isOfAll = beganMs >= this.#nextLookMs;
    const woken = [...this.#woken];
    this.#woken.clear();
    for (const { missed } of this.#taking.values()) for (const accountId of woken) missed.add(accountId);
    const works = [...this.#works].filter((work) => !this.#taking.has(work) && !this.#pauses.of(work.queue).isWhole);
    try {
      const due = await accountsDue(this.#sql, works, this.#clocks.real(), isOfAll ? undefined : woken);
      for (const [work, accounts] of due) {
        const missed = new Set<string>();
        this.#taking.set(work, { ended: this.#take(work, accounts, missed), missed });
      }
    } finally {
      const endedMs = performance.now();
      const restMs = Math.min(Math.max(rest.leastMs, (endedMs - beganMs) * rest.factor), rest.mostMs);
      if (isOfAll) this.#nextLookMs = endedMs + restMs;
    }
  }

  /** Takes what is due of accounts, one after the other; then looks again at those of which there may be more. A failure of one is no other's. */
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
        this.#log.warn(facts, 'due work of a clock failed; it is tried again');
      }
    }
    // Not before it is on the list, where all of it is paused.
    await Promise.resolve();
    this.#taking.delete(work);
    for (const accountId of missed) this.wake(accountId);
  }
}
