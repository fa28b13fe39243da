import type { Sql } from '../database/database.ts';
import type { Fragment, QueueRows } from '../database/queue-rows.ts';
import { nothingPaused, type Paused } from '../queues/pauses.ts';

/** Scope of a round of work: the accounts whose due rows it takes, and what operators paused of these. */
export interface Scope extends Paused {
  /** The one account by whose clock the round goes; undefined: all that go by the real time. */
  account: string | undefined;
}

/** All accounts that go by the real time. */
export const everybody: Scope = { ...nothingPaused, account: undefined };

/**
 * Returns the condition, after others, of the rows that a round takes; `column` is the one with the account. A round by the real time leaves
 * the rows of accounts with clocks of their own: it probes their key for each row.
 */
export function isOfScope(sql: Sql, { account }: Scope, column: Fragment = sql`account_id`): Fragment {
  if (account !== undefined) return sql`and ${column} = ${account}`;
  // The column in a select of its own, where it cannot be taken for that of the clocks. Not `in`: in a statement with that word the client
  // takes lists of columns after it for lists of values.
  return sql`and not exists (
    select from (select ${column} as id) as mine join sandbox_clocks c on c.account_id = mine.id)`;
}

/** Returns a table of which nothing but the rows of a round is read. */
export function rowsOfScope<Rows extends QueueRows>(rows: Rows, scope: Scope): Rows {
  return { ...rows, accounts: (sql: Sql, column: Fragment) => isOfScope(sql, scope, column) };
}
