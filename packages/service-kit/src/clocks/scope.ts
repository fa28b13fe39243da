import type { Sql } from '../database/database.ts';
import type { Fragment, QueueRows } from '../database/queue-rows.ts';
import { nothingPaused, type Paused } from '../queues/pauses.ts';

/** The accounts whose due rows a round of work takes, and what operators paused. */
export interface Scope extends Paused {
  /** The account whose sandbox clock the round follows; undefined for all accounts on real time. */
  account: string | undefined;
}

/** All accounts on real time. */
export const allAccounts: Scope = { ...nothingPaused, account: undefined };

/**
 * Returns the condition, appended to others, for the rows that a round takes; `column` holds the account. A round on real time leaves out
 * accounts with sandbox clocks, by one primary key probe for each row.
 */
export function isInScope(sql: Sql, { account }: Scope, column: Fragment = sql`account_id`): Fragment {
  if (account !== undefined) return sql`and ${column} = ${account}`;
  // The subselect keeps the column from resolving to one of sandbox_clocks. Avoids `in`: after that word in a query, postgres.js treats lists of
  // columns as lists of values.
  return sql`and not exists (
    select from (select ${column} as id) as mine join sandbox_clocks c on c.account_id = mine.id)`;
}

/** Returns the queue's rows, limited to those of the round. */
export function rowsOfScope<Rows extends QueueRows>(rows: Rows, scope: Scope): Rows {
  return { ...rows, accounts: (sql: Sql, column: Fragment) => isInScope(sql, scope, column) };
}
