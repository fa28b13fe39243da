import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';
import { releaseReporter, takeReporter } from './reporter.sql.ts';

/** Lease of a reporter: longer than the time between two collections, so that it stays the same while it lives. */
const longestLeaseMs = 90_000;
const shortestLeaseMs = 10_000;
/** Collections that a lease outlasts. */
const collections = 3;
/** Several collectors come in turn, at uneven times: the longest of the last intervals counts. */
const intervalsKept = 4;

/** Chooses, among the processes of a service, the one that reports what all would count alike: the sum over all is right. */
export class Reporter {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();
  #lastAskMs: number | undefined;
  #intervalsMs: number[] = [];

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /**
   * Returns whether this process reports; to be asked at each collection. A process that dies is followed by another after three
   * collections, at least 10 s and at most 90 s.
   */
  async isChosen(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#lastAskMs !== undefined) {
      this.#intervalsMs = [nowMs - this.#lastAskMs, ...this.#intervalsMs].slice(0, intervalsKept);
    }
    this.#lastAskMs = nowMs;
    return await takeReporter(this.#sql, this.#name, this.#holder, this.#leaseMs());
  }

  /** Lets another process report at once; without the database the lease runs out. Never throws. */
  async release(): Promise<void> {
    if (this.#lastAskMs !== undefined)
      await releaseReporter(this.#sql, this.#name, this.#holder).catch(() => undefined);
  }

  #leaseMs(): number {
    if (this.#intervalsMs.length === 0) return longestLeaseMs;
    return Math.min(longestLeaseMs, Math.max(shortestLeaseMs, collections * Math.max(...this.#intervalsMs)));
  }
}
