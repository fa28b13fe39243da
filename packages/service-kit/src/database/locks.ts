import { createHash } from 'node:crypto';
import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Returns the key of an advisory lock that customer-chosen strings name, as a string for a bigint parameter. All services share the database's
 * advisory locks. PostgreSQL's own hash is invertible: a customer could find a string that takes a service's lock.
 */
export function lockNumber(...texts: string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest().readBigInt64BE().toString();
}

/**
 * Counts rows for a limit on their number. Transactions that count under the same `name` run one after the other: each waits until the previous
 * one ends. `rows` is the part after `from`.
 */
export async function countSerially(tx: Sql, name: string, rows: Fragment): Promise<number> {
  // One round trip. The count takes its own snapshot once the lock is held. If the lock times out, both statements fail.
  const [, [row]] = await Promise.all([
    tx`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`,
    tx<{ count: number }[]>`select count(*)::int as count from ${rows}`,
  ]);
  return row!.count;
}

/**
 * Returns the result of `read`, which PostgreSQL runs once it holds the lock that `lock` takes. Both statements are sent in this order, in one
 * round trip.
 */
export async function readUnderLock<Result>(
  lock: { execute(): Promise<unknown> },
  read: () => Promise<Result>,
): Promise<Result> {
  // `execute` sends the lock now. A statement is otherwise sent when it is awaited, which would be after the read.
  const [, result] = await Promise.all([lock.execute(), read()]);
  return result;
}
