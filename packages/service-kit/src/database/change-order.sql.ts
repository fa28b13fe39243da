import type { Sql } from './database.ts';
import { lockNumber } from './locks.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Keeps an account's changes in order: no row appears with an `updated_at` that a list by `updated_since` has passed.
 * A writer holds the shared lock for its whole transaction and takes its timestamp from `changeTime`. A list records how far it reads, then
 * waits for the writers that began earlier. Later writers see that record and use later timestamps.
 */
const lockOf = (sql: Sql, accountId: string) => sql`
  hashtextextended(current_schema(), ${lockNumber('changes', accountId)}::bigint)`;

/** Returns the statement that holds an account's changes until its transaction ends. It must be the transaction's first statement. */
export const lockChanges = (accountId: string) => (tx: Sql) =>
  tx`
  select pg_advisory_xact_lock_shared(${lockOf(tx, accountId)})`;

/** Expression for the time of a change while the account's changes are held. It is `now`, or 1 µs after the last listed time if later. */
export const changeTime = (sql: Sql, accountId: string, now: Date): Fragment => sql`
  greatest(${now}::timestamptz, (select listed_to + interval '1 microsecond' from listed_changes where account_id = ${accountId}))`;

/** Longest time that a list waits for changes under way, in milliseconds. New changes of the account queue behind this wait. */
const settleMs = 1_000;

/**
 * Waits until all changes of an account up to now have committed or rolled back. Returns the time up to which `table` is final, as a string
 * with microseconds. Throws PostgreSQL's lock timeout if changes are still under way after 1 s.
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
