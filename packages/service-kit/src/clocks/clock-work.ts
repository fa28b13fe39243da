import { randomUUID } from 'node:crypto';
import type { ClockLook } from '@customer-platform/contracts/core';
import type { Database } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import type { Pauses } from '../queues/pauses.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { selectEvents } from './clock-work.sql.ts';
import { accountsDue, type ClockedRows, type Found, lookAt } from './clocked-rows.ts';
import type { Clocks } from './clocks.ts';

/** Poll interval for what became due by the clock of an account and no wake told of. */
const pollMs = 1_000;
const slowestRetryMs = 5_000;
/**
 * A look at all clocks rests for so many times as long as it took: there may be thousands of them, and what others do wakes it all the time.
 * An account that is named is looked at without.
 */
const restFactor = 20;
const longestLookRestMs = 30_000;
/** Pause before accounts are looked for again that have more than was taken. */
const againMs = 20;
/** Rounds of one account in a row: then the others have their turn. */
const maxRounds = 10;

/** Longest time for which one account's rows are taken in a row: then the others have their turn. */
const stretchMs = 1_000;

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
  /** Work that is being taken: the end of that, and accounts that were woken meanwhile. */
  readonly #taking = new Map<ClockedWork, { ended: Promise<void>; missed: Set<string> }>();
  /** Accounts that are to be looked at; whether all are; and the end of the last look at all, with its rest. */
  readonly #woken = new Set<string>();
  #areAllWoken = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #restMs = 0;
  #soon: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(sql: Database, { clocks, pauses, log }: { clocks: Clocks; pauses: Pauses; log: Logger }) {
    this.#sql = sql;
    this.#clocks = clocks;
    this.#pauses = pauses;
    this.#log = log;
    const pace = { everyMs: () => this.#pauseMs(), slowestRetryMs, log };
    this.#loop = new WakeLoop('clock work', pace, () => this.#takeDue());
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

  /** Says that something may have become due: of an account, by default that whose work is under way, or of any. */
  wake(accountId = this.#clocks.active): void {
    if (accountId === undefined ? this.#areAllWoken || !this.#clocks.hasAny : !this.#clocks.ownerOf(accountId)) return;
    if (accountId === undefined) this.#areAllWoken = true;
    else this.#woken.add(accountId);
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopHearing();
    clearTimeout(this.#soon);
    await this.#loop.stop();
    await Promise.all(this.#taking.values().map(({ ended }) => ended));
  }

  /**
   * Returns what an account's clock has to wait for here: events that are not out yet, or that consumers have left of what the stream had at
   * `position` (null: nothing), and work that is due or under way; and when something is due next. What is paused waits by itself and holds
   * nothing up.
   */
  async look(accountId: string, position: number | null): Promise<ClockLook> {
    const asked = position === null ? [] : [...this.#consumers];
    const consumers = asked.filter(({ queue }) => !this.#pauses.of(queue).isWhole);
    const passed = await Promise.all(consumers.map((consumer) => consumer.hasPassed(position!)));
    const behind = consumers.filter((_, index) => !passed[index]).map(({ queue }) => queue);
    // After the consumers: what they led to is seen.
    const { mark, queues: events } = await selectEvents(this.#sql, accountId);
    const found = await this.#lookAtRows(accountId);
    const isPaused = (queue: string) =>
      this.#pauses.of(queue).isWhole || this.#pauses.of(queue).accounts.includes(accountId);
    const busy = found.filter(({ due, running }) => due || running).map(({ name }) => name);
    const times = found.flatMap(({ next }) => next?.getTime() ?? []);
    if (busy.length > 0) this.wake(accountId);
    const waitsFor = [...behind, ...events.filter((queue) => !isPaused(queue)), ...busy];
    return { waitsFor, nextMs: times.length > 0 ? Math.min(...times) : null, mark };
  }

  async #lookAtRows(accountId: string): Promise<(Found & { name: string })[]> {
    const now = this.#clocks.nowOf(accountId);
    const looked = [...this.#works].flatMap(({ queue, rows }) => {
      const paused = queue === undefined ? undefined : this.#pauses.of(queue);
      if (rows.afterMs !== undefined || paused?.isWhole || paused?.accounts.includes(accountId)) return [];
      return [
        { name: queue ?? rows.name, rows, look: { account: accountId, now, endpoints: paused?.endpoints ?? [] } },
      ];
    });
    if (looked.length === 0) return [];
    const sql = this.#sql;
    const selects = looked.map(
      ({ rows, look }, index) =>
        sql`select ${index}::int as place, looked.* from (${lookAt(sql, rows, look)}) as looked`,
    );
    const found = await sql<(Found & { place: number })[]>`${united(sql, selects)}`;
    return found.map(({ place, ...rest }) => ({ name: looked[place]!.name, ...rest }));
  }

  /** Returns the time until the next look at all clocks. */
  #pauseMs(): number {
    // A move wakes the loop: until the first one there is nothing to look at.
    if (!this.#clocks.hasAny) return Number.POSITIVE_INFINITY;
    const restMs = this.#areAllWoken ? this.#restMs : Math.max(pollMs, this.#restMs);
    return Math.max(0, this.#lookedMs + restMs - performance.now());
  }

  /** Begins to take what is due: of all accounts with clocks where it is time to look at them, else of those that were woken. */
  async #takeDue(): Promise<undefined> {
    if (!this.#clocks.hasAny || this.#isStopping) return;
    const accounts = [...this.#woken];
    this.#woken.clear();
    if (this.#pauseMs() > 0) return accounts.length > 0 ? await this.#takeDueOf(accounts) : undefined;
    this.#areAllWoken = false;
    const beganMs = performance.now();
    try {
      await this.#takeDueOf();
    } finally {
      this.#lookedMs = performance.now();
      this.#restMs = Math.min((this.#lookedMs - beganMs) * restFactor, longestLookRestMs);
    }
  }

  /** Begins to take what is due of accounts, or of all, work by work side by side: one that takes long keeps no other waiting. */
  async #takeDueOf(accounts?: readonly string[]): Promise<undefined> {
    const works = [...this.#works].filter((work) => this.#mayTake(work, accounts));
    if (works.length === 0) return;
    const now = this.#clocks.real();
    const sql = this.#sql;
    const from = randomUUID();
    const selects = works.map(({ rows }, entry) => accountsDue(sql, rows, { entry, now, from, accounts }));
    const due = await sql<{ entry: number; account_id: string }[]>`${united(sql, selects)}`;
    const byWork = Map.groupBy(due, ({ entry }) => works[entry]!);
    for (const [work, found] of byWork) {
      const ids = found.map(({ account_id }) => account_id);
      const missed = new Set<string>();
      const ended = this.#takeOf(work, ids).then((left) => {
        this.#taking.delete(work);
        this.#lookSoon([...left, ...missed]);
      });
      this.#taking.set(work, { ended, missed });
    }
  }

  /** Returns whether work may be taken now; where it is being taken, notes the accounts that are to be looked at afterwards. */
  #mayTake(work: ClockedWork, accounts: readonly string[] = []): boolean {
    const { queue, take } = work;
    const taking = this.#taking.get(work);
    for (const accountId of taking ? accounts : []) taking!.missed.add(accountId);
    return take !== undefined && !taking && !(queue && this.#pauses.of(queue).isWhole);
  }

  #lookSoon(accountIds: readonly string[]): void {
    if (accountIds.length === 0 || this.#isStopping) return;
    for (const accountId of accountIds) this.#woken.add(accountId);
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#loop.wake();
    }, againMs);
  }

  /** Takes what is due of accounts, one after the other; returns those of which there may be more. Never rejects: a failure of one is no other's. */
  async #takeOf(work: ClockedWork, accountIds: readonly string[]): Promise<string[]> {
    const { queue, rows } = work;
    const left: string[] = [];
    for (const accountId of accountIds) {
      if (this.#isStopping) break;
      if (queue && this.#pauses.of(queue).accounts.includes(accountId)) continue;
      try {
        if (await this.#takeStretch(work, accountId)) left.push(accountId);
      } catch (error) {
        this.#log.warn(
          { err: error, account: accountId, work: queue ?? rows.name },
          'due work of a clock failed; it is tried again',
        );
      }
    }
    return left;
  }

  /** Takes what is due of one account, as far as its stretch goes; returns whether there may be more. */
  async #takeStretch({ take }: ClockedWork, accountId: string): Promise<boolean> {
    const untilMs = performance.now() + stretchMs;
    let isLeft = true;
    for (let rounds = 0; isLeft && rounds < maxRounds && performance.now() < untilMs; rounds++) {
      if (this.#isStopping) return isLeft;
      isLeft = await this.#clocks.by(accountId, () => take!(accountId));
    }
    return isLeft;
  }
}

function united(sql: Database, selects: readonly Fragment[]): Fragment {
  return selects.reduce((all, select) => sql`${all} union all ${select}`);
}
