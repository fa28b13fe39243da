import { rowsOfScope, type Scope } from '../clocks/scope.ts';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { dueOfAccounts, type KeyedRows, longestDue, nextLanes } from './due-rows.ts';

/** The end of a batch that left rows which were selected, since they are large. */
export interface BatchCut {
  /** The last account of which something was taken, where those after it have to wait; undefined where all had their first. */
  lastAccount?: string | undefined;
}

/**
 * Returns where a batch was cut short after a row, the `nth` of its account, that has firsts of accounts, in their order, before seconds: amid these firsts, or after
 * them.
 */
export function cutAfter({ account_id, nth }: { account_id: string; nth: number }): BatchCut {
  return nth === 1 ? { lastAccount: account_id } : {};
}

interface Selected {
  /** All rows are looked for account by account: of some nothing is taken, however much they have. */
  passesOver: boolean;
  /** The rows are of the next accounts, not those that have been due longest. */
  isOfAccounts: boolean;
  /** The account after which the next selection of accounts goes on. */
  lastAccount: string | undefined;
}

/**
 * Selects rows for a job that works on them in batches: those that have been due longest and, after each full batch of these, those of the
 * next accounts, round-robin, so that what is due of one account hides nobody's, however much it is. The table needs an index on its due
 * column, and one on account and due column.
 */
export class RoundRobin {
  readonly #rows: KeyedRows;
  #table: KeyedRows;
  readonly #limit: number;
  readonly #locks: boolean;
  /** The account after which the next accounts are looked for; undefined: from the first on. */
  #lastAccount: string | undefined;
  #isByAccount = false;
  /** The selection that was not taken yet. */
  #selected: Selected = { passesOver: false, isOfAccounts: false, lastAccount: undefined };

  /** At most `limit` rows in a batch; with `locks` they are locked, and those that are locked passed over. */
  constructor(table: KeyedRows, { limit, locks = false }: { limit: number; locks?: boolean }) {
    this.#rows = table;
    this.#table = table;
    this.#limit = limit;
    this.#locks = locks;
  }

  /** Returns what selects within the scope of a round: of one account what has been due longest, beside the turns of the others. */
  of(scope: Scope): Pick<RoundRobin, 'next' | 'took'> {
    const table = rowsOfScope(this.#rows, scope);
    if (scope.account === undefined) {
      this.#table = table;
      return this;
    }
    return {
      next: async (sql, now, _paused, endpoints = []) => {
        const shown = endpoints.length > 0 ? withoutEndpoints(table, endpoints) : table;
        return { due: longestDue(sql, shown, now, this.#batch) };
      },
      took: (count, cut) => cut !== undefined || count >= this.#limit,
    };
  }

  /**
   * Returns a selection of the keys of due rows, none of paused accounts: of these nothing is read, however much they have. Nor is any of
   * paused endpoints selected. Until it was taken the next is of the same accounts: work that is rolled back and begins again passes nobody
   * over.
   */
  async next(
    sql: Sql,
    now: Date,
    paused: readonly string[],
    endpoints: readonly string[] = [],
  ): Promise<{ due: Fragment }> {
    const table = endpoints.length > 0 ? withoutEndpoints(this.#table, endpoints) : this.#table;
    const passesOver = paused.length > 0;
    const accounts = this.#isByAccount || passesOver ? await this.#nextAccounts(sql, table, now) : undefined;
    const isOfAccounts = passesOver || (accounts !== undefined && accounts.due.length > 0);
    this.#selected = { passesOver, isOfAccounts, lastAccount: accounts ? accounts.last : this.#lastAccount };
    const batch = this.#batch;
    if (!isOfAccounts) return { due: longestDue(sql, table, now, batch) };
    const others = accounts!.due.filter((account) => !paused.includes(account));
    return { due: dueOfAccounts(sql, table, now, { ...batch, accounts: others }) };
  }

  /**
   * Takes note of how many rows the batch had, last of all that is done with it, and of where it was cut short; returns whether more may
   * be due.
   */
  took(count: number, cut?: BatchCut): boolean {
    const { passesOver, isOfAccounts, lastAccount } = this.#selected;
    this.#lastAccount = (isOfAccounts ? cut?.lastAccount : undefined) ?? lastAccount;
    if (passesOver) return count > 0 || this.#lastAccount !== undefined;
    const wasByAccount = this.#isByAccount;
    this.#isByAccount = !wasByAccount && (cut !== undefined || count >= this.#limit);
    return wasByAccount || this.#isByAccount;
  }

  get #batch() {
    return { limit: this.#limit, locks: this.#locks };
  }

  async #nextAccounts(sql: Sql, table: KeyedRows, now: Date): Promise<{ due: string[]; last: string | undefined }> {
    const after = this.#lastAccount === undefined ? undefined : { account_id: this.#lastAccount };
    const looking = nextLanes(sql, table, now, { last: after, most: this.#limit });
    const { due, last } = await looking.catch((error: unknown) => {
      // The next look is at those due longest, whatever kept this one.
      this.#isByAccount = false;
      throw error;
    });
    return { due: due.map(({ account_id }) => account_id), last: last?.account_id };
  }
}

/** Returns the table without the rows of some endpoints. */
function withoutEndpoints(table: KeyedRows, endpoints: readonly string[]): KeyedRows {
  const { where, endpoint } = table;
  if (endpoint === undefined) return table;
  const isOther = (sql: Sql) => sql`${sql(endpoint)} <> all(${[...endpoints]}::uuid[])`;
  return { ...table, where: (sql) => (where ? sql`${where(sql)} and ${isOther(sql)}` : isOther(sql)) };
}
