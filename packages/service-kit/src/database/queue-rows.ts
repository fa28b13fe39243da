import type { PendingQuery, Row } from 'postgres';
import type { Sql } from './database.ts';

export type Fragment = PendingQuery<Row[]>;

/** Rows of a queue: its table, and the column that holds when a row is due, or until when a process has it; null: never. */
export interface QueueRows {
  name: string;
  due: string;
  /** Condition that a row of this queue meets beside being due. */
  where?(sql: Sql): Fragment;
  /** Condition, after others, that the account of a row meets; `column` is the one with the account. */
  accounts?(sql: Sql, column: Fragment): Fragment;
  /** The column with the id of the webhook endpoint that a row belongs to. */
  endpoint?: string;
  /** The column with the error of the last attempt; null while one runs. */
  error?: string;
  /** Condition of a row that waits after a failure and that no process has. */
  failed?(sql: Sql): Fragment;
  /**
   * All of them are counted with the others, at no cost: the index that these are counted by has the columns of `failed`, or they are
   * counted without any. Otherwise those are counted that are among the ten thousand due next.
   */
  countsFailed?: true;
}

/** Returns the condition of a queue's rows beside being due. */
export function filter(sql: Sql, table: QueueRows): Fragment {
  return sql`${ofRows(sql, table)} ${ofAccounts(sql, table, sql`account_id`)}`;
}

/** The part of it that is said of rows. */
export function ofRows(sql: Sql, { where }: Pick<QueueRows, 'where'>): Fragment {
  return where ? sql`and ${where(sql)}` : sql``;
}

/** The part of it that is said of their accounts. */
export function ofAccounts(sql: Sql, { accounts }: QueueRows, column: Fragment): Fragment {
  return accounts ? accounts(sql, column) : sql``;
}

/** Joins fragments, at least one, by a separator such as ` and `. */
export function joined(sql: Sql, fragments: readonly Fragment[], separator: Fragment): Fragment {
  return fragments.reduce((before, next) => sql`${before}${separator}${next}`);
}
