import type { Bus } from '../bus/bus.ts';
import type { ClockWork } from '../clocks/clock-work.ts';
import type { Clocks } from '../clocks/clocks.ts';
import type { Database, Sql } from '../database/database.ts';
import type { Fragment, QueueRows } from '../database/queue-rows.ts';
import type { QueueMembership, Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import type { Backoff } from '../values/backoff.ts';
import type { RunEnd } from './account-slots.ts';
import type { DueTable } from './due-rows.ts';
import type { DueWatch } from './due-watch.ts';
import type { SlotBounds } from './fair-slots.ts';

/** Resources of the process that a queue needs. */
export interface WorkFoundation {
  sql: Database;
  bus: Pick<Bus, 'isConnected'>;
  log: Logger;
  clocks: Clocks;
  clockWork: Pick<ClockWork, 'register' | 'wake'>;
  queues: Pick<Queues, 'open'>;
  watch: Pick<DueWatch, 'run' | 'lookSoon'>;
}

/** A claimed row, with the columns of its table's key, and with `channel` if lanes are channels. */
export interface DueRow {
  account_id: string;
  /** Number of attempts begun, including this one. */
  attempts: number;
  trace: TraceHeaders | null;
}

/** A row whose run ended with a result. */
export interface Ended<Row, Result> {
  row: Row;
  result: Result;
}

/** One claim: which rows to claim and how to mark them. */
export interface Claim {
  /** Selects and locks the keys of the rows to claim. */
  due: Fragment;
  now: Date;
  /** New value of the due column if rows are retried. */
  leasedUntil: Date;
}

/** Retries of a queue. */
export interface Retries {
  /** Lease in milliseconds, after which another process claims the row if its own died. Renewed while the row runs. */
  leaseMs: number;
  backoff: Backoff;
}

/**
 * One queue: rows of a table that any number of processes run, each row in one process at a time. No transaction is open while a row runs.
 */
export interface DueWork<Row extends DueRow, Result> {
  /** Its name in metrics, logs and spans. */
  queue: string;
  /** Name of a part of the queue that has slots of its own. */
  part?: string;
  /** The registration that operators see, if the caller made it: to share one among the parts of a queue, or to use another name. */
  membership?: QueueMembership;
  table: DueTable;
  /** Rows of another table that become rows of this one at their time. Operators see them as waiting. */
  scheduled?: QueueRows;
  concurrency: SlotBounds;
  /** Null if a row must not run twice. Claiming it then clears its due time, and the service must end rows whose process died. */
  retries: Retries | null;
  /** Pause in milliseconds before the queue continues with due rows that it left. */
  everyMs: number;
  /** Wait in milliseconds after a wake, so that one claim takes rows that become due together. */
  gatherMs?: number;
  /** Time in milliseconds that `stop` lets runs continue before it aborts their signals. */
  stopMs: number;
  /** Rows are due by the real time, even if their account has a sandbox clock. */
  isByRealTime?: true;
  /** Condition of a row that a process is running, if the claim clears its due time. */
  running?(sql: Sql): Fragment;
  /** Rows need the bus: none is claimed while the bus is unavailable. */
  needsBus?: boolean;
  /** Claims rows in one statement. Sets their due column to the end of the lease, or to null, and counts the attempt. */
  claim(sql: Database, claim: Claim): Promise<Row[]>;
  /**
   * Runs one row. The signal aborts when the process stops and when another process has claimed the row. If it throws, the row runs again after
   * its backoff; without retries it must not throw.
   */
  run(row: Row, signal: AbortSignal): Promise<Result>;
  /** Returns a result that ends a row whose run threw, or undefined for another attempt. */
  giveUp?(row: Row, error: unknown): Result | undefined;
  /** Returns whether a failed attempt counts; by default all count. */
  counts?(error: unknown): boolean;
  /** Returns how a run ended, for the limits of its lane; `responded` by default. */
  endOf?(result: Result): RunEnd;
  /** Writes results in one transaction, for rows that are unchanged since their claim. */
  settle(ended: readonly Ended<Row, Result>[]): Promise<void>;
}
