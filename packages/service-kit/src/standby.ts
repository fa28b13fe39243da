import type { BaseConfig } from './config.ts';
import { type Database, openDatabase } from './database.ts';
import type { Logger } from './logging.ts';
import { meter } from './meter.ts';
import { WakeLoop } from './wake-loop.ts';

/** Lists are read from the primary while the standby may be further behind than this. */
const mostBehindMs = 5_000;
const lookEveryMs = 1_000;
/** A standby that has not said for so long how far it is may be frozen: lists would wait for as long as a statement may take. */
const silentMs = 1_000;
const slowestRetryMs = 5_000;
/** Looks at the primary that the standby may have yet to reach. */
const maxMarks = 8;

const gauges = {
  'db.standby.lag': {
    unit: 's',
    description:
      'Time by which the server of DATABASE_READ_URL is behind at most; above 5 lists are read from the primary.',
  },
};

/** Position of the primary's log at a time, in bytes. */
interface Mark {
  atMs: number;
  position: number;
}

/**
 * A streaming standby of a process's database that lists are read from, while it has replayed what the primary had written 5 s ago or less.
 * Looks at both once a second.
 */
export class Standby {
  readonly #primary: Database;
  readonly #standby: Database;
  readonly #log: Logger;
  readonly #loop: WakeLoop;
  readonly #stopGauges: () => void;
  #marks: Mark[] = [];
  /** The latest time whose writes the standby is known to have, on the monotonic clock. */
  #reachedMs = Number.NEGATIVE_INFINITY;
  #askedMs: number | undefined;
  #wasUsed = false;

  constructor(primary: Database, standby: Database, log: Logger) {
    this.#primary = primary;
    this.#standby = standby;
    this.#log = log;
    this.#loop = new WakeLoop('standby', { everyMs: lookEveryMs, slowestRetryMs, log }, () => this.#look());
    this.#stopGauges = meter.observe(gauges, (observe) => {
      if (Number.isFinite(this.#reachedMs)) observe('db.standby.lag', this.#behindMs / 1_000);
    });
  }

  /** The standby's pool; undefined while it may be too far behind, is silent, or gone. */
  get current(): Database | undefined {
    const isSilent = this.#askedMs !== undefined && performance.now() - this.#askedMs > silentMs;
    return this.#behindMs <= mostBehindMs && !isSilent ? this.#standby : undefined;
  }

  async stop(): Promise<void> {
    this.#stopGauges();
    await this.#loop.stop();
    await this.#standby.end({ timeout: 5 });
  }

  get #behindMs(): number {
    return performance.now() - this.#reachedMs;
  }

  async #look(): Promise<undefined> {
    const atMs = performance.now();
    const [primary] = await this.#primary<{ position: number }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as position`;
    this.#marks = [...this.#marks, { atMs, position: primary!.position }].slice(-maxMarks);
    const replayed = await this.#replayed();
    const reached = this.#marks.findLast(({ position }) => position <= replayed);
    this.#reachedMs = Math.max(this.#reachedMs, reached?.atMs ?? Number.NEGATIVE_INFINITY);
    const isUsed = this.current !== undefined;
    if (isUsed !== this.#wasUsed) this.#log.info({ isUsed }, 'whether lists are read from the standby has changed');
    this.#wasUsed = isUsed;
  }

  /** Returns how far the standby has replayed the log, in bytes; 0 of a server that never was a standby. */
  async #replayed(): Promise<number> {
    this.#askedMs = performance.now();
    try {
      const [standby] = await this.#standby<{ position: number | null }[]>`
        select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 as position`;
      return standby!.position ?? 0;
    } finally {
      this.#askedMs = undefined;
    }
  }
}

/** Opens the standby of the settings, with as many connections as the primary's pool; undefined where they have none. */
export function openStandby(
  { DATABASE_READ_URL: url, DATABASE_POOL: pool, DATABASE_POOLER }: BaseConfig,
  { service, sql, log }: { service: string; sql: Database; log: Logger },
): Standby | undefined {
  if (!url) return undefined;
  return new Standby(sql, openDatabase(url, { pool, service, isPooled: DATABASE_POOLER === 'transaction' }), log);
}
