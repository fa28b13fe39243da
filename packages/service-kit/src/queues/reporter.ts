import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';
import { releaseReporter, takeReporter } from './reporter.sql.ts';

/** Lease of a reporter: longer than the time between two collections, so that it stays the same while it lives. */
const leaseMs = 90_000;

/** Chooses, among the processes of a service, the one that reports what all would count alike: the sum over all is right. */
export class Reporter {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /** Returns whether this process reports; to be asked at each collection. A process that dies is followed by another within 90 s. */
  async isChosen(): Promise<boolean> {
    return await takeReporter(this.#sql, this.#name, this.#holder, leaseMs);
  }

  /** Lets another process report at once; without the database the lease runs out. Never throws. */
  async release(): Promise<void> {
    await releaseReporter(this.#sql, this.#name, this.#holder).catch(() => undefined);
  }
}
