import type { Bus } from '../bus/bus.ts';
import type { ClockWork } from '../clocks/clock-work.ts';
import type { Clocks } from '../clocks/clocks.ts';
import type { Database, Sql } from '../database/database.ts';
import type { Fragment, QueueRows } from '../database/queue-rows.ts';
import type { QueueSeat, Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import type { Backoff } from '../values/backoff.ts';
import type { RunEnd } from './account-slots.ts';
import type { DueTable } from './due-rows.ts';
import type { DueWatch } from './due-watch.ts';
import type { SlotBounds } from './fair-slots.ts';

/** Resources of its process that a queue needs. */
export interface WorkFoundation {
  sql: Database;
  bus: Pick<Bus, 'isConnected'>;
  log: Logger;
  clocks: Clocks;
  clockWork: Pick<ClockWork, 'register' | 'wake'>;
  queues: Pick<Queues, 'open'>;
  watch: Pick<DueWatch, 'run' | 'lookSoon'>;
}

/** A row of a queue as it was claimed, with the columns of its table's key, and with `channel` where its lanes are channels. */
export interface DueRow {
  account_id: string;
  /** Attempts that have begun, this one included. */
  attempts: number;
  trace: TraceHeaders | null;
}

/** A row whose run ended with a result. */
export interface Ended<Row, Result> {
  row: Row;
  result: Result;
}

/** One claim: which rows, and how they are marked. */
export interface Claim {
  /** Selects and locks the keys of the rows to claim. */
  due: Fragment;
  now: Date;
  /** New value of the rows' due column, where they are run again. */
  leasedUntil: Date;
}

/** Retries of a queue. */
export interface Retries {
  /** Time after which a row is claimed by another process if its own died; renewed while the row runs. */
  leaseMs: number;
  backoff: Backoff;
}

/**
 * One queue: rows of a table that any number of processes run, each row once at a time. No transaction is open while a row runs.
 */
export interface DueWork<Row extends DueRow, Result> {
  /** Its name in metrics, logs and spans. */
  queue: string;
  /** Name of a part of the queue that has slots of its own. */
  part?: string;
  /** The place on the list of queues, where whoever starts the queue opened it: for all parts of one, or under other names. */
  seat?: QueueSeat;
  table: DueTable;
  /** Rows of another table that become rows of this one at their time: operators see them as waiting. */
  scheduled?: QueueRows;
  concurrency: SlotBounds;
  /** Null where a row must not be run twice: its claim takes the due time away, and the module ends rows whose process died. */
  retries: Retries | null;
  /** Pause before the queue goes on with due rows that it left. */
  everyMs: number;
  /** Wait for more after a wake, so that what becomes due at once is one claim. */
  gatherMs?: number;
  /** Time that `stop` lets runs go on before their signals are aborted. */
  stopMs: number;
  /** Rows go by the real time, whatever the clock of their account. */
  isByRealTime?: true;
  /** Condition of a row that a process is working on, where the claim takes its due time away. */
  running?(sql: Sql): Fragment;
  /** Rows need the bus: none is claimed while it is unavailable. */
  needsBus?: boolean;
  /** Claims rows in one statement: sets their due column to the end of the lease, or to null, and counts the attempt. */
  claim(sql: Database, claim: Claim): Promise<Row[]>;
  /**
   * Runs one row. The signal is aborted when the process stops, and when the row is another's by now. What it throws has the row run again
   * after its backoff; without retries it must not throw.
   */
  run(row: Row, signal: AbortSignal): Promise<Result>;
  /** Ends a row whose run threw, instead of another attempt; undefined lets it wait for that. */
  giveUp?(row: Row, error: unknown): Result | undefined;
  /** Returns whether a failed attempt counts; all count unless given. */
  counts?(error: unknown): boolean;
  /** Returns how a run ended, for the limits of its lane; `responded` unless given. */
  endOf?(result: Result): RunEnd;
  /** Writes results in one transaction, of rows that are still as they were claimed. */
  settle(ended: readonly Ended<Row, Result>[]): Promise<void>;
}
