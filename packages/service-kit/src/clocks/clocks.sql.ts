import type { Sql } from '../database/database.ts';

/** The clock of an account: how many milliseconds it is ahead of the real time. */
export interface ClockRow {
  account_id: string;
  ahead_ms: number;
  moved_at: Date;
}

/** Returns the clocks that moved since `since`, which may be long ago: all of them. */
export async function selectMovedClocks(sql: Sql, since: Date): Promise<ClockRow[]> {
  return await sql<ClockRow[]>`
    select account_id, ahead_ms::float8 as ahead_ms, moved_at from sandbox_clocks where moved_at > ${since}`;
}

/** Moves a clock forward; one that is further ahead already stays as it is. */
export async function writeClock(sql: Sql, accountId: string, aheadMs: number): Promise<void> {
  await sql`
    insert into sandbox_clocks as c (account_id, ahead_ms) values (${accountId}, ${aheadMs})
    on conflict (account_id) do update set ahead_ms = excluded.ahead_ms, moved_at = clock_timestamp()
      where c.ahead_ms < excluded.ahead_ms`;
}
