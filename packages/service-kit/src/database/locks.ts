import { createHash } from 'node:crypto';
import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Returns the number of an advisory lock that goes by texts of a customer's choice, as text for a bigint parameter. Advisory locks are one space for
 * the whole database, and PostgreSQL's own hash can be calculated backwards: with it a customer finds a text whose lock is that of a service.
 */
export function lockNumber(...texts: string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest().readBigInt64BE().toString();
}

/**
 * Counts rows for a limit on their number, one transaction after the other: whoever counts by the same `name` waits until this one ends.
 * `rows` is what follows `from`.
 */
export async function countSerially(tx: Sql, name: string, rows: Fragment): Promise<number> {
  // Sent together: the second statement begins, with a snapshot of its own, once the lock is held. A wait in vain fails both.
  const [, [row]] = await Promise.all([
    tx`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`,
    tx<{ count: number }[]>`select count(*)::int as count from ${rows}`,
  ]);
  return row!.count;
}

/**
 * Returns what `read` does, as it is under the lock that `lock` takes: both are sent in one round trip, in this order, and run one after
 * the other.
 */
export async function readUnderLock<Result>(
  lock: { execute(): Promise<unknown> },
  read: () => Promise<Result>,
): Promise<Result> {
  // Sent at once: a statement that is only made waits until it is awaited, and the read would overtake it.
  const [, result] = await Promise.all([lock.execute(), read()]);
  return result;
}
