import type { Sql } from './database.ts';
import { lockNumber } from './locks.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * The order of an account's changes, for lists by `updated_since`: no row becomes visible there with an `updated_at` that a list has passed already.
 * Whoever changes such rows holds the account's changes from the beginning of its transaction, and takes the time of the change from `changeTime`. A list
 * notes how far it goes, then waits for those who began before that; all others see it, and are later.
 */
const lockOf = (sql: Sql, accountId: string) => sql`
  hashtextextended(current_schema(), ${lockNumber('changes', accountId)}::bigint)`;

/** The statement that holds an account's changes until its transaction ends: the first of the transaction. */
export const holdOfChanges = (accountId: string) => (tx: Sql) =>
  tx`
  select pg_advisory_xact_lock_shared(${lockOf(tx, accountId)})`;

/** Expression for the time of a change of an account whose changes are held: now, or just after what a list has passed. */
export const changeTime = (sql: Sql, accountId: string, now: Date): Fragment => sql`
  greatest(${now}::timestamptz, (select listed_to + interval '1 microsecond' from listed_changes where account_id = ${accountId}))`;

/** Longest wait of a list for changes that are under way, which others wait behind, in milliseconds. */
const settleMs = 1_000;

/**
 * Has all changes of an account up to now settle: what is visible of `table` afterwards is all that there will ever be up to the time that it
 * returns, as text in microseconds. Throws a lock timeout of the database where changes are under way for more than a second.
 */
export async function settleChanges(sql: Sql, table: string, accountId: string, now: Date): Promise<string> {
  const [row] = await sql<{ listed_to: string }[]>`
    insert into listed_changes as known (account_id, listed_to)
    select ${accountId}, greatest(${now}::timestamptz, (select max(updated_at) from ${sql(table)} where account_id = ${accountId}))
    on conflict (account_id) do update set listed_to = greatest(known.listed_to, excluded.listed_to)
    returning listed_to::text`;
  await sql`
    with bounded as materialized (select set_config('lock_timeout', ${String(settleMs)}, true))
    select pg_advisory_xact_lock(${lockOf(sql, accountId)}) from bounded`;
  return row!.listed_to;
}
