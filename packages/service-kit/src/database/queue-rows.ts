import type { PendingQuery, Row } from 'postgres';
import type { Sql } from './database.ts';

export type Fragment = PendingQuery<Row[]>;

/** Rows of a queue. `due` is the column with the time at which a row is due or its lease expires; null means never. */
export interface QueueRows {
  name: string;
  due: string;
  /** Further condition on a row of this queue, besides being due. */
  where?(sql: Sql): Fragment;
  /** Further condition on a row's account, with a leading `and`; `column` is the column with the account. */
  accounts?(sql: Sql, column: Fragment): Fragment;
  /** The column with the id of the webhook endpoint of a row. */
  endpoint?: string;
  /** The column with the error of the last attempt; null while one runs. */
  error?: string;
  /** Condition of a row that waits after a failure and that no process has claimed. */
  failed?(sql: Sql): Fragment;
  /**
   * Counts all failed rows at no extra cost. Set it if the index used for counting has the columns of `failed`, or counting uses no index.
   * Otherwise failed rows are counted only among the 10,000 that are due next.
   */
  countsFailed?: true;
}

/** Returns the conditions on a queue's rows besides being due. */
export function filter(sql: Sql, table: QueueRows): Fragment {
  return sql`${ofRows(sql, table)} ${ofAccounts(sql, table, sql`account_id`)}`;
}

/** Returns the part of `filter` that concerns the rows themselves. */
export function ofRows(sql: Sql, { where }: Pick<QueueRows, 'where'>): Fragment {
  return where ? sql`and ${where(sql)}` : sql``;
}

/** Returns the part of `filter` that concerns the rows' accounts. */
export function ofAccounts(sql: Sql, { accounts }: QueueRows, column: Fragment): Fragment {
  return accounts ? accounts(sql, column) : sql``;
}

/** Joins at least one fragment with a separator such as ` and `. */
export function joined(sql: Sql, fragments: readonly Fragment[], separator: Fragment): Fragment {
  return fragments.reduce((before, next) => sql`${before}${separator}${next}`);
}
