import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../telemetry/logging.ts';
import { meter } from '../../telemetry/meter.ts';
import { WakeLoop } from '../../timing/wake-loop.ts';
import { dayMs } from '../../values/zoned-time.ts';
import type { Database } from '../database.ts';
import { isTemporaryFailure } from '../database-errors.ts';
import {
  type Bounds,
  dropPartition,
  makePartition,
  type Partition,
  type PartitionsNow,
  readPartitions,
} from './partitions.sql.ts';

/** A table that is partitioned by a column of UUIDs of version 7, and so by time: its rows end with their partition. */
export interface PartitionedTable {
  table: string;
  /** Days that a partition holds: blocks of them are counted from the epoch, in UTC. */
  days: number;
  /** Partitions that are made in advance: for so long a release that makes none may run. */
  ahead: number;
  /** Age in milliseconds at which the end of a partition is over, and all its rows are dropped. */
  keptMs: number;
}

/**
 * Returns the partitions that a table lacks for now and for what comes, those included that nobody made meanwhile; and those whose time is
 * over, oldest first. Now is the database's, by which ids are made; what is over is so by the process's clock too: one of both that is
 * wrong must drop nothing.
 */
export function planPartitions(
  { days, ahead, keptMs }: PartitionedTable,
  partitions: readonly Partition[],
  now: number,
  ownNow = now,
): { missing: Bounds[]; over: Partition[] } {
  const blockMs = days * dayMs;
  const blockOf = (ms: number) => Math.floor(ms / blockMs) * blockMs;
  const sorted = partitions.toSorted((a, b) => a.fromMs - b.fromMs);
  const missing: Bounds[] = [];
  const until = blockOf(now + ahead * blockMs) + blockMs;
  // Never before the first there is: what was dropped would come back.
  let fromMs = Math.max(blockOf(now - keptMs), sorted[0]?.fromMs ?? 0);
  while (fromMs < until) {
    const holder = sorted.find((one) => one.fromMs <= fromMs && fromMs < one.toMs);
    const next = sorted.find((one) => one.fromMs > fromMs);
    const toMs = holder?.toMs ?? Math.min(blockOf(fromMs) + blockMs, next?.fromMs ?? Number.POSITIVE_INFINITY);
    if (!holder) missing.push({ fromMs, toMs });
    fromMs = toMs;
  }
  const over = sorted.filter(({ toMs }) => toMs <= Math.min(now, ownNow) - keptMs);
  return { missing, over };
}

/** Pause after a round that found nothing to do, and before the next attempt to drop a partition that somebody reads. */
const everyMs = 60_000;
const slowestRetryMs = 60_000;
/** Attempts between two warnings about a partition that cannot be dropped: an hour. */
const attemptsPerWarning = 60;
/** Attempts to make partitions that a process needs to begin, and the pause between them. */
const attemptsToBegin = 5;
const retryToBeginMs = 500;

const gauges = {
  'partitions.ahead': {
    unit: 's',
    description: 'Time until the last partition of a table ends: then nothing is written.',
  },
  'partitions.overdue': { description: 'Partitions of a table that are over and could not be dropped yet.' },
};

/** Makes the partitions of a service's tables ahead of time, and drops those that are over. Any number of processes may do it. */
export class PartitionKeeper {
  readonly #sql: Database;
  readonly #tables: readonly PartitionedTable[];
  readonly #log: Logger;
  /** Attempts in vain to drop a partition, by its name. */
  readonly #attempts = new Map<string, number>();
  readonly #seen = new Map<string, { endsAt: number; overdue: number }>();
  readonly #strange = new Set<string>();
  readonly #stopGauges: () => void;
  #loop: WakeLoop | undefined;

  constructor(sql: Database, tables: readonly PartitionedTable[], log: Logger) {
    this.#sql = sql;
    this.#tables = tables;
    this.#log = log;
    this.#stopGauges = meter.observe(gauges, async (observe) => {
      for (const [table, { endsAt, overdue }] of this.#seen) {
        observe('partitions.ahead', (endsAt - Date.now()) / 1_000, { table });
        observe('partitions.overdue', overdue, { table });
      }
    });
  }

  /**
   * Makes what is missing, and then goes on doing so. Where it cannot now, as somebody has a lock, later is soon enough; but it throws where
   * there is no partition for what is written now.
   */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#makeAll().catch((error: unknown) => error);
      const lacking = await this.#lackingNow();
      if (lacking.length === 0) {
        if (failure) this.#log.warn({ err: failure }, 'partitions could not be made ahead; it is tried again');
        break;
      }
      const message = `no partition for what is written now: ${lacking.join(', ')}`;
      if (attempt === attemptsToBegin) throw new Error(message, { cause: failure });
      await sleep(retryToBeginMs);
    }
    const pace = { everyMs, slowestRetryMs, log: this.#log };
    this.#loop = new WakeLoop('partitions', pace, () => this.keepUp());
  }

  /** Ends after the statement under way. */
  async stop(): Promise<void> {
    this.#stopGauges();
    await this.#loop?.stop();
  }

  /** Makes what is missing and drops one partition of each table that is over; returns whether there are more. */
  async keepUp(): Promise<boolean> {
    const failures: unknown[] = [];
    let hasMore = false;
    for (const table of this.#tables) {
      try {
        const hasMoreOfTable = await this.#keepUp(table);
        hasMore ||= hasMoreOfTable;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return hasMore;
  }

  async #keepUp(table: PartitionedTable): Promise<boolean> {
    const { now, over, endsAt } = await this.#make(table);
    const [oldest, ...others] = over;
    if (!oldest || !(await this.#drop(table, oldest, now))) return false;
    this.#seen.set(table.table, { endsAt, overdue: others.length });
    return others.length > 0;
  }

  /** Drops a partition; returns whether it did. It gives way to whoever has it locked, and is tried again a minute later. */
  async #drop({ table, keptMs }: PartitionedTable, partition: Partition, now: number): Promise<boolean> {
    const { name, toMs } = partition;
    try {
      const isMine = await dropPartition(this.#sql, table, partition);
      if (isMine) this.#log.info({ partition: name }, 'a partition was dropped with its rows, whose time is over');
      this.#attempts.delete(name);
      return isMine;
    } catch (error) {
      if (!isTemporaryFailure(error)) throw error;
      const attempts = (this.#attempts.get(name) ?? 0) + 1;
      this.#attempts.set(name, attempts);
      const overdueMs = now - keptMs - toMs;
      const said = { partition: name, attempts, overdue_hours: Math.round(overdueMs / 3_600_000) };
      const message = 'a partition cannot be dropped while somebody has its table locked; it is tried again';
      if (overdueMs >= dayMs && attempts % attemptsPerWarning === 0) this.#log.warn(said, message);
      else if (attempts === 1) this.#log.info(said, message);
      return false;
    }
  }

  async #makeAll(): Promise<void> {
    for (const table of this.#tables) await this.#make(table);
  }

  /** Makes what a table lacks; returns what is over, and when the last one ends. */
  async #make(table: PartitionedTable) {
    const { partitions, now } = await this.#read(table.table);
    const { missing, over } = planPartitions(table, partitions, now, Date.now());
    let endsAt = Math.max(now, ...partitions.map(({ toMs }) => toMs));
    const saw = () => this.#seen.set(table.table, { endsAt, overdue: over.length });
    // Said before anything can fail: operators must hear of it when nothing more is made.
    saw();
    const failures: unknown[] = [];
    for (const bounds of missing) {
      try {
        await makePartition(this.#sql, table.table, bounds);
        endsAt = Math.max(endsAt, bounds.toMs);
      } catch (error) {
        failures.push(error);
        // Whoever has the table locked is in the way of all; else one that cannot be made keeps no later one from being made.
        if (isTemporaryFailure(error)) break;
      }
    }
    saw();
    if (failures.length > 0) throw failures[0];
    return { now, over, endsAt };
  }

  /** Returns the tables that have no partition for the database's now. */
  async #lackingNow(): Promise<string[]> {
    const lacking: string[] = [];
    for (const { table } of this.#tables) {
      const { now, partitions } = await this.#read(table);
      if (!partitions.some(({ fromMs, toMs }) => fromMs <= now && now < toMs)) lacking.push(table);
    }
    return lacking;
  }

  /** Reads what there is. Partitions that are none of ours are named once, and left alone. */
  async #read(table: string): Promise<PartitionsNow> {
    const state = await readPartitions(this.#sql, table);
    for (const { name, bounds } of state.strange.filter((one) => !this.#strange.has(one.name))) {
      this.#strange.add(name);
      this.#log.error({ table, partition: name, bounds }, 'a partition must be bounded by two UUIDs; detach it');
    }
    return state;
  }
}
