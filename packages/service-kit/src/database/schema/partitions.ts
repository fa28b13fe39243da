import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../telemetry/logging.ts';
import { meter } from '../../telemetry/meter.ts';
import { WakeLoop } from '../../timing/wake-loop.ts';
import { dayMs } from '../../values/zoned-time.ts';
import type { Database } from '../database.ts';
import { isTemporaryFailure } from '../database-errors.ts';
import { type Bounds, dropPartition, makePartition, type Partition, readPartitions } from './partitions.sql.ts';

/** A table partitioned by a column of version 7 UUIDs, and so by time. Its rows expire with their partition. */
export interface PartitionedTable {
  table: string;
  /** Length of a partition in days. Blocks of that length are counted from the epoch, in UTC. */
  days: number;
  /** Number of partitions created in advance. A release that creates none can run for that long. */
  ahead: number;
  /** Age of a partition's end, in milliseconds, at which the partition is dropped with all its rows. */
  keptMs: number;
}

/**
 * Returns the partitions that a table lacks, gaps included, and its expired partitions, oldest first. The current time is the
 * database's, by which ids are made. A partition expires only if the process's clock agrees, so that one wrong clock drops nothing.
 */
export function planPartitions(
  { days, ahead, keptMs }: PartitionedTable,
  partitions: readonly Partition[],
  now: number,
  ownNow = now,
): { missing: Bounds[]; expired: Partition[] } {
  const blockMs = days * dayMs;
  const blockOf = (ms: number) => Math.floor(ms / blockMs) * blockMs;
  const sorted = partitions.toSorted((a, b) => a.fromMs - b.fromMs);
  const missing: Bounds[] = [];
  const until = blockOf(now + ahead * blockMs) + blockMs;
  // Not before the first existing partition, since that would bring dropped ones back.
  let fromMs = Math.max(blockOf(now - keptMs), sorted[0]?.fromMs ?? 0);
  while (fromMs < until) {
    const holder = sorted.find((one) => one.fromMs <= fromMs && fromMs < one.toMs);
    const next = sorted.find((one) => one.fromMs > fromMs);
    const toMs = holder?.toMs ?? Math.min(blockOf(fromMs) + blockMs, next?.fromMs ?? Number.POSITIVE_INFINITY);
    if (!holder) missing.push({ fromMs, toMs });
    fromMs = toMs;
  }
  const expired = sorted.filter(({ toMs }) => toMs <= Math.min(now, ownNow) - keptMs);
  return { missing, expired };
}

/** Pause after a round that found nothing to do, and before the next attempt to drop a locked partition. */
const everyMs = 60_000;
const slowestRetryMs = 60_000;
/** Attempts to create the partitions that a process needs to start, and the pause between them. */
const attemptsToBegin = 5;
const retryToBeginMs = 500;

const gauges = {
  'partitions.ahead': {
    unit: 's',
    description: 'Time until the last partition of a table ends, after which writes fail.',
  },
  'partitions.overdue': { description: 'Expired partitions of a table that could not be dropped yet.' },
};

/** Creates the partitions of a service's tables ahead of time and drops expired ones. Any number of processes may run it. */
export class PartitionKeeper {
  readonly #sql: Database;
  readonly #tables: readonly PartitionedTable[];
  readonly #log: Logger;
  readonly #seen = new Map<string, { endsAt: number; overdue: number; coversNow: boolean }>();
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
   * Creates missing partitions, and keeps doing so. A failure such as a lock timeout is retried later. Throws if a table has no partition for the
   * current time.
   */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.keepUp().catch((error: Error) => error);
      const lacking = this.#tables.map(({ table }) => table).filter((table) => !this.#seen.get(table)?.coversNow);
      if (lacking.length === 0) {
        if (failure instanceof Error)
          this.#log.warn({ err: failure }, 'partitions could not be created ahead; retrying later');
        break;
      }
      const message = `no partition exists for the current time: ${lacking.join(', ')}`;
      if (attempt === attemptsToBegin) throw new Error(message, { cause: failure });
      await sleep(retryToBeginMs);
    }
    const pace = { everyMs, slowestRetryMs, log: this.#log };
    this.#loop = new WakeLoop('partitions', pace, () => this.keepUp());
  }

  /** Stops after the round under way. */
  async stop(): Promise<void> {
    this.#stopGauges();
    await this.#loop?.stop();
  }

  /** Creates missing partitions and drops one expired partition of each table; returns whether more have expired. */
  async keepUp(): Promise<boolean> {
    const kept = await Promise.allSettled(this.#tables.map((table) => this.#keepUp(table)));
    const failed = kept.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return kept.some((one) => one.status === 'fulfilled' && one.value);
  }

  /** Does so for one table. If a transaction locks the partition, the drop gives way and is retried a minute later. */
  async #keepUp(table: PartitionedTable): Promise<boolean> {
    const { partitions, now } = await readPartitions(this.#sql, table.table);
    const { missing, expired } = planPartitions(table, partitions, now, Date.now());
    const existing: Bounds[] = partitions;
    const record = (overdue: number) => {
      const endsAt = Math.max(now, ...existing.map(({ toMs }) => toMs));
      this.#seen.set(table.table, {
        endsAt,
        overdue,
        coversNow: existing.some(({ fromMs, toMs }) => fromMs <= now && now < toMs),
      });
    };
    // Recorded before anything can fail, so that the gauges also report when no partition can be created.
    record(expired.length);
    for (const bounds of missing) {
      if (await makePartition(this.#sql, table.table, bounds)) existing.push(bounds);
      record(expired.length);
    }
    const [oldest] = expired;
    const fields = { partition: oldest?.name };
    try {
      if (!oldest || !(await dropPartition(this.#sql, table.table, oldest))) return false;
    } catch (error) {
      if (!isTemporaryFailure(error)) throw error;
      this.#log.info(fields, 'a partition cannot be dropped while another transaction locks its table; retrying later');
      return false;
    }
    this.#log.info(fields, 'an expired partition was dropped with its rows');
    record(expired.length - 1);
    return expired.length > 1;
  }
}
