import { randomUUID } from 'node:crypto';
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
  /** Takes what is due of one account, by its clock, as far as one round goes; returns whether there may be more. Left out: its own loop does. */
  take?(accountId: string): Promise<boolean>;
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
  readonly #stopHearing: () => void;
  /** Work that is being taken, side by side, and the accounts that were woken meanwhile. */
  readonly #taking = new Map<ClockedWork, { ended: Promise<void>; missed: Set<string> }>();
  /** Accounts to look at next. */
  #woken = new Set<string>();
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
    this.#stopHearing = clocks.onMove((accountId) => this.wake(accountId));
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
    this.#stopHearing();
    await this.#loop.stop();
    await Promise.all(this.#taking.values().map(({ ended }) => ended));
  }

  /**
   * Returns what an account's clock has to wait for here: events that are not out yet, or that consumers have left of what the stream had at
   * `position` (null: nothing), and work that is due or under way; and when something is due next. What is paused waits by itself and holds
   * nothing up.
   */
  async look(accountId: string, position: number | null): Promise<ClockLook> {
    const consumers = [...this.#consumers].filter(({ queue }) => position !== null && !this.#pauses.of(queue).isWhole);
    const passed = await Promise.all(consumers.map((consumer) => consumer.hasPassed(position!)));
    const behind = consumers.filter((_, index) => !passed[index]).map(({ queue }) => queue);
    // After the consumers: what they led to is seen.
    const { mark, queues } = await selectEvents(this.#sql, accountId);
    const events = queues.filter((queue) => !this.#isPaused(queue, accountId));
    const found = await this.#lookAtRows(accountId);
    const busy = found.filter(({ due, running }) => due || running).map(({ name }) => name);
    const times = found.flatMap(({ next }) => next?.getTime() ?? []);
    if (busy.length > 0) this.wake(accountId);
    return { waitsFor: [...behind, ...events, ...busy], nextMs: times.length > 0 ? Math.min(...times) : null, mark };
  }

  #isPaused(queue: string | undefined, accountId: string): boolean {
    const { isWhole, accounts } = this.#pauses.of(queue ?? '');
    return isWhole || accounts.includes(accountId);
  }

  async #lookAtRows(account: string) {
    const now = this.#clocks.nowOf(account);
    const works = [...this.#works].filter(
      ({ queue, rows }) => rows.afterMs === undefined && !this.#isPaused(queue, account),
    );
    const looks = works.map(({ queue, rows }) => ({
      name: queue ?? rows.name,
      rows,
      at: { account, now, endpoints: this.#pauses.of(queue ?? '').endpoints },
    }));
    return await lookAt(this.#sql, looks);
  }

  /** Takes what is due of the accounts that were woken or, from time to time, of all with clocks. Slow work keeps no other waiting. */
  async #takeDue(): Promise<undefined> {
    if (!this.#clocks.hasAny || this.#isStopping) return;
    const beganMs = performance.now();
    const isOfAll = beganMs >= this.#nextLookMs;
    const woken = this.#woken;
    this.#woken = new Set();
    for (const { missed } of this.#taking.values()) for (const accountId of woken) missed.add(accountId);
    const works = [...this.#works].filter(
      (work) => work.take && !this.#taking.has(work) && !this.#pauses.of(work.queue ?? '').isWhole,
    );
    try {
      const look = { now: this.#clocks.real(), from: randomUUID(), accounts: isOfAll ? undefined : [...woken] };
      for (const [work, accountIds] of await accountsDue(this.#sql, works, look)) this.#begin(work, accountIds);
    } finally {
      const endedMs = performance.now();
      const restMs = Math.min(Math.max(rest.leastMs, (endedMs - beganMs) * rest.factor), rest.mostMs);
      if (isOfAll) this.#nextLookMs = endedMs + restMs;
    }
  }

  #begin(work: ClockedWork, accountIds: readonly string[]): void {
    const missed = new Set<string>();
    const ended = this.#take(work, accountIds).then((left) => {
      this.#taking.delete(work);
      for (const accountId of [...left, ...missed]) this.wake(accountId);
    });
    this.#taking.set(work, { ended, missed });
  }

  /** Takes what is due of accounts, one after the other; returns those of which there may be more. A failure of one is no other's. */
  async #take({ queue, rows, take }: ClockedWork, accountIds: readonly string[]): Promise<string[]> {
    const left: string[] = [];
    for (const accountId of accountIds) {
      if (this.#isPaused(queue, accountId)) continue;
      try {
        let hasMore = true;
        for (let round = 0; hasMore && round < maxRounds && !this.#isStopping; round++)
          hasMore = await this.#clocks.by(accountId, () => take!(accountId));
        if (hasMore) left.push(accountId);
      } catch (error) {
        const facts = { err: error, account: accountId, work: queue ?? rows.name };
        this.#log.warn(facts, 'due work of a clock failed; it is tried again');
      }
    }
    return left;
  }
}
