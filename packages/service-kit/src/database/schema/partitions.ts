import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../telemetry/logging.ts';
import { meter } from '../../telemetry/meter.ts';
import { WakeLoop } from '../../timing/wake-loop.ts';
import { dayMs } from '../../values/zoned-time.ts';
import type { Database } from '../database.ts';
import { isTemporaryFailure } from '../database-errors.ts';
import { type Bounds, dropPartition, makePartition, type Partition, readPartitions } from './partitions.sql.ts';

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
  readonly #seen = new Map<string, { endsAt: number; overdue: number; hasNow: boolean }>();
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
      const failure = await this.keepUp().catch((error: Error) => error);
      const lacking = this.#tables.map(({ table }) => table).filter((table) => !this.#seen.get(table)?.hasNow);
      if (lacking.length === 0) {
        if (failure instanceof Error)
          this.#log.warn({ err: failure }, 'partitions could not be made ahead; it is tried again');
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
    const kept = await Promise.allSettled(this.#tables.map((table) => this.#keepUp(table)));
    const failed = kept.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return kept.some((one) => one.status === 'fulfilled' && one.value);
  }

  /** The same of one table. A drop gives way to whoever has the partition locked, and is tried again a minute later. */
  async #keepUp(table: PartitionedTable): Promise<boolean> {
    const { partitions, now } = await readPartitions(this.#sql, table.table);
    const { missing, over } = planPartitions(table, partitions, now, Date.now());
    const there: Bounds[] = partitions;
    const note = (overdue: number) => {
      const endsAt = Math.max(now, ...there.map(({ toMs }) => toMs));
      this.#seen.set(table.table, {
        endsAt,
        overdue,
        hasNow: there.some(({ fromMs, toMs }) => fromMs <= now && now < toMs),
      });
    };
    // Said before anything can fail: operators must hear of it when nothing more is made.
    note(over.length);
    for (const bounds of missing) {
      if (await makePartition(this.#sql, table.table, bounds)) there.push(bounds);
      note(over.length);
    }
    const [oldest] = over;
    const said = { partition: oldest?.name };
    try {
      if (!oldest || !(await dropPartition(this.#sql, table.table, oldest))) return false;
    } catch (error) {
      if (!isTemporaryFailure(error)) throw error;
      this.#log.info(said, 'a partition cannot be dropped while somebody has its table locked; it is tried again');
      return false;
    }
    this.#log.info(said, 'a partition was dropped with its rows, whose time is over');
    note(over.length - 1);
    return over.length > 1;
  }
}
