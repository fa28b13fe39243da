import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Condition that rows belong to the account of another relation. Both parameters are column names, such as `t.account_id`. The repeated condition,
 * as bounds, makes the planner expect few rows. Without it, if one account owns nearly all rows, the planner expects rows of every account
 * everywhere. It then scans all of them for another account's, by an index that does not begin with the account.
 */
export function isOfAccount(sql: Sql, own: string, other: string): Fragment {
  return sql`${sql(own)} = ${sql(other)} and ${sql(own)} between ${sql(other)} and ${sql(other)}`;
}

/** Returns whether the account has a row with this `id` in a table. */
export async function hasRow(sql: Sql, table: string, accountId: string, id: string | number): Promise<boolean> {
  const rows = await sql`select from ${sql(table)} where account_id = ${accountId} and id = ${id}`;
  return rows.length > 0;
}
