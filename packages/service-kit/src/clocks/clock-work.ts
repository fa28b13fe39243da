import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database.ts';
import type { Logger } from '../logging.ts';
import type { Pauses } from '../queues/pauses.ts';
import type { Fragment } from '../queues/queue-rows.ts';
import { WakeLoop } from '../wake-loop.ts';
import { selectEvents } from './clock-work.sql.ts';
import { accountsDue, type ClockedRows, type Found, lookAt } from './clocked-rows.ts';
import type { Clocks } from './clocks.ts';

/** Poll interval for what became due by the clock of an account and no wake told of. */
const pollMs = 1_000;
const slowestRetryMs = 5_000;
/** Pause before accounts are looked for again that have more than was taken. */
const againMs = 20;
/** Rounds of one account in a row: then the others have their turn. */
const maxRounds = 10;

/** Longest time for which one account's rows are taken in a row: where that took longer the account rests for as long, at most so long. */
const stretchMs = 1_000;
const longestRestMs = 60_000;
/** Time without another account at a work after which one is alone there, and rests for nobody. */
const companyMs = 60_000;
/** Rests that are kept in memory. */
const maxResting = 10_000;

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

/** State of an account's work in one service. */
export interface ClockState {
  /** The work that the clock waits for; empty where all is quiet. */
  waitsFor: string[];
  /** The next moment at which something is due. */
  next: Date | null;
  /** Grows with each event of the account. */
  mark: number;
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
  /** Work that is being taken, each with the end of that. */
  readonly #taking = new Map<ClockedWork, Promise<void>>();
  /** The account that was taken last of each work, and since when no other was. */
  readonly #latest = new WeakMap<ClockedWork, { account: string; sinceMs: number }>();
  /** Until when accounts rest, by work and account. */
  readonly #restsUntil = new LRUCache<string, number>({ max: maxResting });
  #soon: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(sql: Database, { clocks, pauses, log }: { clocks: Clocks; pauses: Pauses; log: Logger }) {
    this.#sql = sql;
    this.#clocks = clocks;
    this.#pauses = pauses;
    this.#log = log;
    this.#loop = new WakeLoop('clock work', { everyMs: pollMs, slowestRetryMs, log }, () => this.#takeDue());
    this.#stopHearing = clocks.onMove(() => this.wake());
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

  /** Says that something may have become due. */
  wake(): void {
    if (this.#clocks.hasAny) this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopHearing();
    clearTimeout(this.#soon);
    await this.#loop.stop();
    await Promise.all(this.#taking.values());
  }

  /**
   * Returns what an account's clock has to wait for here: events that are not out yet, or that consumers have left of what the stream had at
   * `position` (null: nothing), and work that is due or under way. What is paused waits by itself and holds nothing up.
   */
  async state(accountId: string, position: number | null): Promise<ClockState> {
    const asked = position === null ? [] : [...this.#consumers];
    const consumers = asked.filter(({ queue }) => !this.#pauses.of(queue).isWhole);
    const passed = await Promise.all(consumers.map((consumer) => consumer.hasPassed(position!)));
    const behind = consumers.filter((_, index) => !passed[index]).map(({ queue }) => queue);
    // After the consumers: what they led to is seen.
    const [{ mark, queues: events }, found] = await Promise.all([
      selectEvents(this.#sql, accountId),
      this.#look(accountId),
    ]);
    const isPaused = (queue: string) =>
      this.#pauses.of(queue).isWhole || this.#pauses.of(queue).accounts.includes(accountId);
    const busy = found.filter(({ due, running }) => due || running).map(({ name }) => name);
    const next = found.flatMap((one) => one.next ?? []).sort((a, b) => a.getTime() - b.getTime())[0] ?? null;
    if (busy.length > 0) this.wake();
    return { waitsFor: [...behind, ...events.filter((queue) => !isPaused(queue)), ...busy], next, mark };
  }

  async #look(accountId: string): Promise<(Found & { name: string })[]> {
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

  /** Begins to take what is due of all accounts with clocks, work by work side by side: one that takes long keeps no other waiting. */
  async #takeDue(): Promise<undefined> {
    if (!this.#clocks.hasAny || this.#isStopping) return;
    const works = [...this.#works].filter((work) => this.#mayTake(work));
    if (works.length === 0) return;
    const now = this.#clocks.real();
    const sql = this.#sql;
    const from = randomUUID();
    const selects = works.map(({ rows }, entry) => accountsDue(sql, rows, { entry, now, from }));
    const due = await sql<{ entry: number; account_id: string }[]>`${united(sql, selects)}`;
    const byWork = Map.groupBy(due, ({ entry }) => works[entry]!);
    for (const [work, accounts] of byWork) {
      const ids = accounts.map(({ account_id }) => account_id);
      const taking = this.#takeOf(work, ids).then((hasMore) => {
        this.#taking.delete(work);
        if (hasMore && !this.#isStopping) this.#lookSoon();
      });
      this.#taking.set(work, taking);
    }
  }

  #mayTake(work: ClockedWork): boolean {
    const { queue, take } = work;
    return take !== undefined && !this.#taking.has(work) && !(queue && this.#pauses.of(queue).isWhole);
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.wake();
    }, againMs);
  }

  /**
   * Takes what is due of accounts, one after the other; returns whether there may be more. Never rejects: a failure of one is no other's. What
   * takes long for one leaves half of the time to the others.
   */
  async #takeOf(work: ClockedWork, accountIds: readonly string[]): Promise<boolean> {
    const { queue, rows } = work;
    const name = queue ?? rows.name;
    let hasMore = false;
    for (const accountId of accountIds) {
      if (this.#isStopping) return false;
      if (queue && this.#pauses.of(queue).accounts.includes(accountId)) continue;
      const beganMs = performance.now();
      if (beganMs < (this.#restsUntil.get(`${name} ${accountId}`) ?? 0)) continue;
      const isAlone = this.#isAlone(work, accountId);
      try {
        const isLeft = await this.#takeStretch(work, accountId);
        hasMore ||= isLeft;
      } catch (error) {
        this.#log.warn({ err: error, account: accountId, work: name }, 'due work of a clock failed; it is tried again');
      }
      const tookMs = performance.now() - beganMs;
      if (tookMs < stretchMs || isAlone) continue;
      this.#restsUntil.set(`${name} ${accountId}`, performance.now() + Math.min(tookMs, longestRestMs));
    }
    return hasMore;
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

  /** Notes that an account is taken; returns whether no other was for a while. */
  #isAlone(work: ClockedWork, accountId: string): boolean {
    const latest = this.#latest.get(work);
    if (latest?.account === accountId) return performance.now() - latest.sinceMs > companyMs;
    this.#latest.set(work, { account: accountId, sinceMs: performance.now() });
    return false;
  }
}

function united(sql: Database, selects: readonly Fragment[]): Fragment {
  return selects.reduce((all, select) => sql`${all} union all ${select}`);
}
