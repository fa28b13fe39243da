import type { Sql } from './database.ts';
import type { Fragment } from './queue-rows.ts';

/**
 * Returns the expression for the bytes of the rows that come before a row in an order, of which each has its own as `size`: a round takes rows while it
 * is below a bound, and so one at least. Counted by rows, since among equals in the order each would count all of them.
 */
export function bytesBefore(sql: Sql, order: Fragment): Fragment {
  return sql`sum(size) over (order by ${order} rows between unbounded preceding and current row) - size`;
}
