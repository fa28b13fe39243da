import type { Bus } from '../bus/bus.ts';
import type { Database, Sql } from '../database/database.ts';
import { isDatabaseUnavailable } from '../database/database-errors.ts';
import { type Fragment, joined } from '../database/queue-rows.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Least time between looks: after a round of a loop, and after something else that this process wrote. */
const looksMs = { afterRounds: 250, afterWrites: 1_000 };
/** Least time between looks for what becomes due by time: of very many rows, a moment apart, several are found in one. */
const apartMs = 50;
const slowestRetryMs = 1_000;
/** Least time between words to the other processes of the service that more is due than this one takes. */
const tellMs = 1_000;
const topic = 'due';

/** Rows that a loop works on. */
export interface WatchedRows {
  name: string;
  /**
   * The column with the time at which a row is due, with an index that begins with it; null where a row is due as soon as it is there. An index of the
   * rows then begins with their account_id, if they can be many.
   */
  due: string | null;
  where?(sql: Sql): Fragment;
  /** They are due so many milliseconds after their time. */
  afterMs?: number;
}

/** Work that waits for rows, in one loop. */
export interface WatchedLoop {
  name: string;
  rows: readonly WatchedRows[];
  /** Pause before a loop goes on, in milliseconds, that left rows which are due. */
  everyMs: number;
  slowestRetryMs: number;
  gatherMs?: number;
  log: Logger;
  /** Poll interval while the work has something of its own to wait for; undefined: none. */
  pollMs?(): number | undefined;
}

/** A loop as the watch sees it. */
interface Sleeper extends Pick<WatchedLoop, 'rows' | 'everyMs'> {
  loop: Pick<WakeLoop, 'wake'>;
  wokenMs: number;
  /** Something was due that nobody had taken at the last look. */
  wasDue: boolean;
}

/** Dependencies of the watch. */
interface WatchParts {
  bus: Pick<Bus, 'tell' | 'onPeers'>;
  /** The real time. */
  clock: () => Date;
  log: Logger;
  /** Longest time between looks in milliseconds: after it work is found of processes that died, and what no news told of. */
  everyMs: number;
}

/**
 * Lets the loops of a process sleep until something is due: reads, in one statement for all, when the next row of each is, and wakes it then.
 * It looks a quarter of a second after a look at the earliest where a loop has done a round, a second after it where this process wrote something else, and from time to time; an idle
 * process does nothing between.
 */
export class DueWatch {
  readonly #sql: Database;
  readonly #parts: WatchParts;
  readonly #sleepers = new Set<Sleeper>();
  readonly #loop: WakeLoop;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #toldMs = Number.NEGATIVE_INFINITY;
  #pauseMs: number;
  #soon: NodeJS.Timeout | undefined;
  #soonMs = Number.POSITIVE_INFINITY;
  #isStopping = false;

  constructor(sql: Database, parts: WatchParts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#pauseMs = parts.everyMs;
    const pauseMs = () => Math.max(this.#pauseMs, this.#lookedMs + apartMs - performance.now());
    const pace = { everyMs: pauseMs, slowestRetryMs, log: parts.log };
    this.#loop = new WakeLoop('due rows', pace, () => this.#look());
    parts.bus.onPeers(topic, () => this.#lookAfter(looksMs.afterRounds));
  }

  /** Runs `work` once, whenever it is woken, and whenever some of its rows are due. */
  run(watched: WatchedLoop, work: () => Promise<boolean | undefined>): Pick<WakeLoop, 'wake' | 'stop'> {
    const { name, pollMs = () => undefined } = watched;
    const resting = () => {
      this.#lookAfter(looksMs.afterRounds);
      return pollMs() ?? Number.POSITIVE_INFINITY;
    };
    const loop = new WakeLoop(name, { ...watched, everyMs: resting }, work);
    const sleeper: Sleeper = { ...watched, loop, wokenMs: Number.NEGATIVE_INFINITY, wasDue: false };
    this.#sleepers.add(sleeper);
    return {
      wake: () => loop.wake(),
      stop: async () => {
        this.#sleepers.delete(sleeper);
        await loop.stop();
      },
    };
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#soon);
    await this.#loop.stop();
  }

  /** Says that something was written, rows that are due later perhaps: looks within a second. */
  lookSoon(): void {
    this.#lookAfter(looksMs.afterWrites);
  }

  /** Looks once so long after the last look, unless it does before. */
  #lookAfter(leastMs: number): void {
    const atMs = Math.max(this.#lookedMs + leastMs, performance.now());
    if (this.#isStopping || atMs >= this.#soonMs) return;
    clearTimeout(this.#soon);
    this.#soonMs = atMs;
    this.#soon = setTimeout(() => this.#loop.wake(), Math.max(0, atMs - performance.now()));
  }

  async #look(): Promise<undefined> {
    this.#lookedMs = performance.now();
    this.#soonMs = Number.POSITIVE_INFINITY;
    clearTimeout(this.#soon);
    this.#pauseMs = this.#parts.everyMs;
    const sleepers = [...this.#sleepers];
    if (sleepers.length === 0) return;
    const dueMs = await nextDue(this.#sql, sleepers).catch((error: unknown) => {
      // One table that is locked or slow fails the look for all: until it does no more, each loop finds out by itself.
      if (!isDatabaseUnavailable(error)) for (const { loop } of sleepers) loop.wake();
      throw error;
    });
    const nowMs = this.#parts.clock().getTime();
    for (const [index, sleeper] of sleepers.entries()) this.#wakeOrWait(sleeper, dueMs[index]! - nowMs);
  }

  /** Wakes a loop whose rows are due, or sees to it that the next look is when they are. */
  #wakeOrWait(sleeper: Sleeper, leftMs: number): void {
    if (leftMs > 0) {
      sleeper.wasDue = false;
      // A timer may end a little early: then it would be a round in vain.
      this.#pauseMs = Math.min(this.#pauseMs, leftMs + 1);
      return;
    }
    if (sleeper.wasDue) this.#tellPeers();
    const restMs = sleeper.wasDue ? sleeper.wokenMs + sleeper.everyMs - performance.now() : 0;
    sleeper.wasDue = true;
    if (restMs > 0) {
      this.#pauseMs = Math.min(this.#pauseMs, restMs);
      return;
    }
    sleeper.wokenMs = performance.now();
    sleeper.loop.wake();
  }

  /** Says that more is due than this process takes: others may have room. */
  #tellPeers(): void {
    if (performance.now() - this.#toldMs < tellMs) return;
    this.#toldMs = performance.now();
    this.#parts.bus.tell(topic);
  }
}

/** Returns, for each loop, when the next of its rows is due, in epoch milliseconds; infinite where there are none. */
async function nextDue(sql: Database, sleepers: readonly Sleeper[]): Promise<number[]> {
  const selects = sleepers.flatMap(({ rows }, index) =>
    rows.map((one) => sql`select ${index}::int as loop, (${firstOf(sql, one)}) as due`),
  );
  const found = await sql<{ loop: number; due_ms: number | null }[]>`
    select loop, (extract(epoch from min(due)) * 1000)::float8 as due_ms from (${joined(sql, selects, sql` union all `)}) as first group by loop`;
  const dueMs = sleepers.map(() => Number.POSITIVE_INFINITY);
  for (const { loop, due_ms } of found) if (due_ms !== null) dueMs[loop] = due_ms;
  return dueMs;
}

function firstOf(sql: Sql, { name, due, where, afterMs = 0 }: WatchedRows): Fragment {
  const others = where ? sql`and ${where(sql)}` : sql``;
  // In the order of an index, which remembers what is deleted: a table that is emptied all the time is read through to its end.
  if (due === null)
    return sql`select to_timestamp(0) from ${sql(name)} where true ${others} order by account_id limit 1`;
  return sql`
    select ${sql(due)} + ${afterMs} * interval '1 ms' from ${sql(name)}
    where ${sql(due)} is not null ${others} order by ${sql(due)} limit 1`;
}
