import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Condition that a table's rows are of the account of another relation: both are names of columns, such as `t.account_id`. It is said twice, once as
 * bounds, so that the planner expects few such rows: where one account has nearly all rows of a table, the planner takes every account's to be everywhere, and
 * looks for another's through all of them, by an index that does not begin with the account.
 */
export function isOfAccount(sql: Sql, own: string, other: string): Fragment {
  return sql`${sql(own)} = ${sql(other)} and ${sql(own)} between ${sql(other)} and ${sql(other)}`;
}

/** Returns whether the account has a row with this `id` in a table. */
export async function hasRow(sql: Sql, table: string, accountId: string, id: string | number): Promise<boolean> {
  const rows = await sql`select from ${sql(table)} where account_id = ${accountId} and id = ${id}`;
  return rows.length > 0;
}
