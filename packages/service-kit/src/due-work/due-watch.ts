import type { Bus } from '../bus/bus.ts';
import type { Database, Sql } from '../database/database.ts';
import { isDatabaseUnavailable } from '../database/database-errors.ts';
import { type Fragment, joined } from '../database/queue-rows.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Minimum time between looks: after a round of a loop, and after another write of this process. */
const looksMs = { afterRounds: 250, afterWrites: 1_000 };
/** Minimum time between looks for rows that become due, so that one look finds many that become due moments apart. */
const apartMs = 50;
const slowestRetryMs = 1_000;
/** Minimum time between messages to the service's other processes that more is due than this one takes. */
const tellMs = 1_000;
const topic = 'due';

/** Rows that a loop works on. */
export interface WatchedRows {
  name: string;
  /**
   * The column with the time at which a row is due, with an index that begins with it. Null if a row is due as soon as it exists. If there can be
   * many such rows, they need an index that begins with account_id.
   */
  due: string | null;
  where?(sql: Sql): Fragment;
  /** Delay after the time in `due` at which rows are due, in milliseconds. */
  afterMs?: number;
}

/** A loop whose work waits for rows. */
export interface WatchedLoop {
  name: string;
  rows: readonly WatchedRows[];
  /** Pause in milliseconds before the loop continues with due rows that it left. */
  everyMs: number;
  slowestRetryMs: number;
  gatherMs?: number;
  log: Logger;
  /** Poll interval in milliseconds while the work waits for something else; undefined for none. */
  pollMs?(): number | undefined;
}

/** A loop as the watch sees it. */
interface Sleeper extends Pick<WatchedLoop, 'rows' | 'everyMs'> {
  loop: Pick<WakeLoop, 'wake'>;
  wokenMs: number;
  /** At the last look, rows were due that no process had claimed. */
  wasDue: boolean;
}

/** Dependencies of the watch. */
interface WatchParts {
  bus: Pick<Bus, 'publishNews' | 'onPeerNews'>;
  /** The real time. */
  clock: () => Date;
  log: Logger;
  /** Maximum time between looks, in milliseconds. It limits how late the work of dead processes and unannounced work is found. */
  everyMs: number;
}

/**
 * Lets the loops of a process sleep until rows are due. One query reads when the next row of each loop is due; the watch then wakes that loop.
 * After a round of a loop it looks again, at least 250 ms after the last look. After another write of this process it looks once 1 s has passed since
 * the last look. Otherwise it looks after `everyMs`, and an idle process does nothing in between.
 */
export class DueWatch {
  readonly #sql: Database;
  readonly #parts: WatchParts;
  readonly #sleepers = new Set<Sleeper>();
  readonly #loop: WakeLoop;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #toldMs = Number.NEGATIVE_INFINITY;
  #pauseMs: number;
  #lookTimer: NodeJS.Timeout | undefined;
  #nextLookMs = Number.POSITIVE_INFINITY;
  #isStopping = false;

  constructor(sql: Database, parts: WatchParts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#pauseMs = parts.everyMs;
    const pauseMs = () => Math.max(this.#pauseMs, this.#lookedMs + apartMs - performance.now());
    const pace = { everyMs: pauseMs, slowestRetryMs, log: parts.log };
    this.#loop = new WakeLoop('due rows', pace, () => this.#look());
    parts.bus.onPeerNews(topic, () => this.#lookAfter(looksMs.afterRounds));
  }

  /** Runs `work` once at first, whenever the loop is woken, and whenever some of its rows are due. */
  run(watched: WatchedLoop, work: () => Promise<boolean | undefined>): Pick<WakeLoop, 'wake' | 'stop'> {
    const { name, pollMs = () => undefined } = watched;
    const pauseMs = () => {
      this.#lookAfter(looksMs.afterRounds);
      return pollMs() ?? Number.POSITIVE_INFINITY;
    };
    const loop = new WakeLoop(name, { ...watched, everyMs: pauseMs }, work);
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
    clearTimeout(this.#lookTimer);
    await this.#loop.stop();
  }

  /** Reports a write, which may include rows that are due later. The watch looks within a second. */
  lookSoon(): void {
    this.#lookAfter(looksMs.afterWrites);
  }

  /** Schedules a look `leastMs` after the last one, unless one is scheduled earlier. */
  #lookAfter(leastMs: number): void {
    const atMs = Math.max(this.#lookedMs + leastMs, performance.now());
    if (this.#isStopping || atMs >= this.#nextLookMs) return;
    clearTimeout(this.#lookTimer);
    this.#nextLookMs = atMs;
    this.#lookTimer = setTimeout(() => this.#loop.wake(), Math.max(0, atMs - performance.now()));
  }

  async #look(): Promise<undefined> {
    this.#lookedMs = performance.now();
    this.#nextLookMs = Number.POSITIVE_INFINITY;
    clearTimeout(this.#lookTimer);
    this.#pauseMs = this.#parts.everyMs;
    const sleepers = [...this.#sleepers];
    if (sleepers.length === 0) return;
    const dueMs = await nextDue(this.#sql, sleepers).catch((error: unknown) => {
      // One locked or slow table fails the look for all loops. Until a look succeeds, each loop checks its own rows.
      if (!isDatabaseUnavailable(error)) for (const { loop } of sleepers) loop.wake();
      throw error;
    });
    const nowMs = this.#parts.clock().getTime();
    for (const [index, sleeper] of sleepers.entries()) this.#wakeOrWait(sleeper, dueMs[index]! - nowMs);
  }

  /** Wakes a loop whose rows are due, or schedules the next look for when they are. */
  #wakeOrWait(sleeper: Sleeper, leftMs: number): void {
    if (leftMs > 0) {
      sleeper.wasDue = false;
      // A timer may fire slightly early, when the row is not due yet.
      this.#pauseMs = Math.min(this.#pauseMs, leftMs + 1);
      return;
    }
    if (sleeper.wasDue) this.#tellPeers();
    const remainingMs = sleeper.wasDue ? sleeper.wokenMs + sleeper.everyMs - performance.now() : 0;
    sleeper.wasDue = true;
    if (remainingMs > 0) {
      this.#pauseMs = Math.min(this.#pauseMs, remainingMs);
      return;
    }
    sleeper.wokenMs = performance.now();
    sleeper.loop.wake();
  }

  /** Tells the other processes that more is due than this process takes: they may have room. */
  #tellPeers(): void {
    if (performance.now() - this.#toldMs < tellMs) return;
    this.#toldMs = performance.now();
    this.#parts.bus.publishNews(topic);
  }
}

/** Returns when the next row of each loop is due, in epoch milliseconds; Infinity if it has none. */
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
  // The order makes PostgreSQL use an index, which marks deleted rows. A scan of a table that is emptied all the time reads all dead rows.
  if (due === null)
    return sql`select to_timestamp(0) from ${sql(name)} where true ${others} order by account_id limit 1`;
  return sql`
    select ${sql(due)} + ${afterMs} * interval '1 ms' from ${sql(name)}
    where ${sql(due)} is not null ${others} order by ${sql(due)} limit 1`;
}
