import type { Sql } from '../database/database.ts';

/** Returns the lead of each account's clock over real time in milliseconds. */
export async function selectClocks(sql: Sql) {
  return await sql<{ account_id: string; ahead_ms: number }[]>`
    select account_id, ahead_ms::float8 as ahead_ms from sandbox_clocks`;
}

/** Moves a clock forward, never back. Processes of the previous release find moves by `moved_at`. */
export async function writeClock(sql: Sql, accountId: string, aheadMs: number): Promise<void> {
  await sql`
    insert into sandbox_clocks as c (account_id, ahead_ms) values (${accountId}, ${aheadMs})
    on conflict (account_id) do update set ahead_ms = excluded.ahead_ms, moved_at = clock_timestamp()
      where c.ahead_ms < excluded.ahead_ms`;
}
