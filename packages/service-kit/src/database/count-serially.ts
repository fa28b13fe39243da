import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

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
