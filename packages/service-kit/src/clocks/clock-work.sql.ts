import type { Sql } from '../database.ts';

/** Returns the sequence of an account's newest event: it grows with each. */
export async function markOf(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql<{ mark: number }[]>`
    select greatest((select max(sequence) from outbox where account_id = ${accountId}),
      (select max(sequence) from published where account_id = ${accountId}), 0)::float8 as mark`;
  return row!.mark;
}

/** Returns the queues in which events of an account wait: the outbox, and consumers that could not take one yet. What a pause holds is left out. */
export async function waitingEventsOf(sql: Sql, accountId: string): Promise<string[]> {
  const rows = await sql<{ queue: string }[]>`
    (select 'outbox' as queue from outbox where account_id = ${accountId} limit 1)
    union all
    (select distinct queue from failed_events where account_id = ${accountId} and dead_at is null and due_at <> 'infinity')`;
  return rows.map(({ queue }) => queue);
}
