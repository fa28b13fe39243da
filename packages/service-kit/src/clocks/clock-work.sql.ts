import type { Sql } from '../database/database.ts';

/** Events of an account in one service. */
export interface AccountEvents {
  /** Sequence of the newest: it grows with each. */
  mark: number;
  /** Queues in which some wait: the outbox, and consumers that could not take one yet. What a pause holds is left out. */
  queues: string[];
}

export async function selectEvents(sql: Sql, accountId: string): Promise<AccountEvents> {
  const [row] = await sql<AccountEvents[]>`
    select greatest(waiting.mark, (select max(sequence) from published where account_id = ${accountId}), 0)::float8 as mark,
      array(select distinct queue from failed_events where account_id = ${accountId} and dead_at is null and due_at <> 'infinity')
        || case when waiting.mark is null then array[]::text[] else array['outbox'] end as queues
    from (select max(sequence) as mark from outbox where account_id = ${accountId}) as waiting`;
  return row!;
}
