import type { Sql } from '../database.ts';
import type { Fragment } from '../queues/queue-rows.ts';
import { dueOfAccounts, type KeyedRows, longestDue, nextLanes } from './due-rows.ts';

/**
 * Selects rows for a job that works on them in batches: those that have been due longest and, after each full batch of these, those of the
 * next accounts, round-robin, so that what is due of one account hides nobody's, however much it is. The table needs an index on its due
 * column, and one on account and due column.
 */
export class RoundRobin {
  readonly #table: KeyedRows;
  readonly #limit: number;
  readonly #locks: boolean;
  #lastAccount: string | undefined;
  #isByAccount = false;
  #isPaused = false;

  /** At most `limit` rows in a batch; with `locks` they are locked, and those that are locked passed over. */
  constructor(table: KeyedRows, { limit, locks = false }: { limit: number; locks?: boolean }) {
    this.#table = table;
    this.#limit = limit;
    this.#locks = locks;
  }

  /** Returns a selection of the keys of due rows, none of paused accounts: of these nothing is read, however much they have. */
  async next(sql: Sql, now: Date, paused: readonly string[]): Promise<{ due: Fragment }> {
    this.#isPaused = paused.length > 0;
    const accounts = this.#isByAccount || this.#isPaused ? await this.#nextAccounts(sql, now) : [];
    const others = accounts.filter((account) => !paused.includes(account));
    const batch = { limit: this.#limit, lock: this.#locks ? sql`for update skip locked` : sql`` };
    if (accounts.length === 0 && !this.#isPaused) return { due: longestDue(sql, this.#table, now, batch) };
    return { due: dueOfAccounts(sql, this.#table, now, { ...batch, accounts: others }) };
  }

  /** Takes note of how many rows the batch had; returns whether more may be due. */
  took(count: number): boolean {
    if (this.#isPaused) return count > 0 || this.#lastAccount !== undefined;
    const wasByAccount = this.#isByAccount;
    this.#isByAccount = !wasByAccount && count >= this.#limit;
    return wasByAccount || this.#isByAccount;
  }

  async #nextAccounts(sql: Sql, now: Date): Promise<string[]> {
    const after = this.#lastAccount === undefined ? undefined : { account_id: this.#lastAccount };
    const { due, last } = await nextLanes(sql, this.#table, now, { last: after, most: this.#limit });
    this.#lastAccount = last?.account_id;
    return due.map(({ account_id }) => account_id);
  }
}
