import { randomUUID } from 'node:crypto';
import type { Sql } from '../database.ts';
import { releaseReporter, takeReporter } from './reporter.sql.ts';

/** Longer than the time between two collections of metrics: the reporter stays the same while it lives. */
const reporterMs = 90_000;

/** Chooses, among the processes of a service, the one that reports what all would count alike: the sum over all is right. */
export class Reporter {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();
  #mayHold = false;

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /** Returns whether this process reports; it stays so for as long as it asks at least once a minute. */
  async isChosen(): Promise<boolean> {
    this.#mayHold = true;
    return await takeReporter(this.#sql, this.#name, this.#holder, reporterMs);
  }

  /** Lets another process report at once; without the database the lease runs out. Never throws. */
  async release(): Promise<void> {
    if (this.#mayHold) await releaseReporter(this.#sql, this.#name, this.#holder).catch(() => undefined);
  }
}
