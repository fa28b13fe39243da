import { LRUCache } from 'lru-cache';
import { type Database, openDatabase, standsStillMs } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import type { BaseConfig } from '../values/config.ts';
import { Connections } from './connections.ts';
import type { RequestCount } from './request-count.ts';

/** Lists are read from the primary while the standby may be further behind than this. */
const mostBehindMs = 5_000;
const lookEveryMs = 1_000;
const slowestRetryMs = 5_000;
/** A standby that has not said for so long how far it is may be frozen: lists would wait for as long as a statement may take. */
const silentMs = 1_000;
/** An account one of whose lists the standby did not bring in the time of a statement has its lists from the primary for so long. */
const avoidedMs = 30_000;
const maxAvoiding = 10_000;
/** Looks at the primary that the standby may have yet to reach. */
const maxMarks = 8;

const gauges = {
  'db.standby.lag': {
    unit: 's',
    description:
      'Time by which the server of DATABASE_READ_URL is behind at most; above 5 lists are read from the primary.',
  },
};

/** A server that requests read from, and the connections that their accounts may have there. */
export interface ReadServer {
  sql: Database;
  connections: Connections;
}

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
  readonly #server: ReadServer;
  readonly #log: Logger;
  readonly #loop: WakeLoop;
  readonly #stopGauges: () => void;
  readonly #beganMs = performance.now();
  #marks: Mark[] = [];
  /** Accounts that avoid the standby. */
  readonly #avoiding = new LRUCache<string, true>({ max: maxAvoiding, ttl: avoidedMs });
  /** The latest time whose writes the standby is known to have, on the monotonic clock. */
  #reachedMs = Number.NEGATIVE_INFINITY;
  #askedMs: number | undefined;
  #wasUsed = false;

  constructor(primary: Database, server: ReadServer, log: Logger) {
    this.#primary = primary;
    this.#server = server;
    this.#log = log;
    this.#loop = new WakeLoop('standby', { everyMs: lookEveryMs, slowestRetryMs, log }, () => this.#look());
    this.#stopGauges = meter.observe(gauges, (observe) => {
      const sinceMs = Math.max(this.#reachedMs, this.#beganMs);
      observe('db.standby.lag', (performance.now() - sinceMs) / 1_000);
    });
  }

  /** Returns the standby for an account's list; undefined while it may be too far behind, is silent, or gone, or the account avoids it. */
  for(accountId: string): ReadServer | undefined {
    return this.#isCurrent && !this.#avoiding.has(accountId) ? this.#server : undefined;
  }

  /** Has an account avoid the standby for 30 s: it did not bring a list of it in time, which it may be too busy for. Others find out by themselves. */
  avoid(accountId: string): void {
    this.#avoiding.set(accountId, true);
  }

  get #isCurrent(): boolean {
    const nowMs = performance.now();
    const isSilent = this.#askedMs !== undefined && nowMs - this.#askedMs > silentMs;
    return nowMs - this.#reachedMs <= mostBehindMs && !isSilent;
  }

  async stop(): Promise<void> {
    this.#stopGauges();
    await this.#loop.stop();
    await this.#server.sql.end({ timeout: 5 });
  }

  async #look(): Promise<undefined> {
    try {
      const atMs = performance.now();
      const [primary] = await this.#primary<{ position: number }[]>`
        select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as position`;
      this.#marks = [...this.#marks, { atMs, position: primary!.position }].slice(-maxMarks);
      const replayed = await this.#replayed();
      const reached = this.#marks.findLast(({ position }) => position <= replayed);
      if (reached) this.#reachedMs = reached.atMs;
    } finally {
      const isUsed = this.#isCurrent;
      if (isUsed !== this.#wasUsed) this.#log.info({ isUsed }, 'whether lists are read from the standby has changed');
      this.#wasUsed = isUsed;
    }
  }

  /** Returns how far the standby has replayed the log, in bytes; less than anything of a server that is none, such as one that was promoted. */
  async #replayed(): Promise<number> {
    this.#askedMs = performance.now();
    try {
      const [standby] = await this.#server.sql<{ position: number | null }[]>`
        select case when pg_is_in_recovery() then pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 end as position`;
      if (standby!.position === null) this.#reachedMs = Number.NEGATIVE_INFINITY;
      return standby!.position ?? Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#reachedMs = Number.NEGATIVE_INFINITY;
      throw error;
    } finally {
      this.#askedMs = undefined;
    }
  }
}

/** Opens the standby of the settings, with as many connections as the primary's pool; undefined where they have none. */
export function openStandby(
  { DATABASE_READ_URL: url, DATABASE_POOL: pool, DATABASE_POOLER }: BaseConfig,
  { service, primary, requests, log }: { service: string; primary: Database; requests: RequestCount; log: Logger },
): Standby | undefined {
  if (!url) return undefined;
  const sql = openDatabase(url, { pool, service, isPooled: DATABASE_POOLER === 'transaction' });
  const connections = new Connections(pool, requests, () => standsStillMs(sql), true);
  return new Standby(primary, { sql, connections }, log);
}
