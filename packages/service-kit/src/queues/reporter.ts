import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';

/** Lease of a reporter in seconds. It exceeds the interval of collections, so that the reporter keeps it while it lives. */
const leaseSeconds = 90;

/** Chooses the one process of a service that reports shared counts, so that the sum over all processes is right. */
export class Reporter {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /** Returns whether this process reports. Call it at each collection. If the reporter dies, another takes over within 90 s. */
  async isChosen(): Promise<boolean> {
    const taken = await this.#sql`
      insert into reporters as r (name, holder, held_until)
      values (${this.#name}, ${this.#holder}, now() + make_interval(secs => ${leaseSeconds}))
      on conflict (account_id, name) do update set holder = excluded.holder, held_until = excluded.held_until
      where r.holder = excluded.holder or r.held_until < now()`;
    return taken.count > 0;
  }

  /** Lets another process report at once. Without the database, the lease expires instead. Never throws. */
  async release(): Promise<void> {
    await this.#sql`delete from reporters where name = ${this.#name} and holder = ${this.#holder}`.catch(
      () => undefined,
    );
  }
}
