import type { Sql } from '@customer-platform/service-kit';

/** Tokens used on one day by one agent for one purpose. */
export interface UsageRow {
  day: string;
  agent_id: number;
  /** 0 if the plans had none. */
  pipeline_id: number;
  kind: string;
  provider: string;
  model: string;
  /** Number of settled calls. */
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  tokens: number;
}

/** Returns the tokens of settled calls from the date `from` to the date `to`, without reservations. */
export async function selectUsage(sql: Sql, accountId: string, from: string, to: string): Promise<UsageRow[]> {
  return await sql<UsageRow[]>`
    select day::text as day, agent_id, pipeline_id, kind, provider, model, calls, prompt_tokens, completion_tokens,
      prompt_tokens + completion_tokens as tokens
    from usage_days
    where account_id = ${accountId} and day between ${from}::text::date and ${to}::text::date and calls > 0
    order by day, agent_id, pipeline_id`;
}

/** Returns the number of plans that each agent made since an instant. */
export async function countPlans(sql: Sql, accountId: string, since: Date): Promise<Map<number, number>> {
  const rows = await sql<{ agent_id: number; plans: number }[]>`
    select agent_id, count(*) as plans from plans
    where account_id = ${accountId} and created_at >= ${since} and agent_id is not null group by agent_id`;
  return new Map(rows.map(({ agent_id, plans }) => [agent_id, plans]));
}

/** Returns the names of pipelines in their newest plan since an instant. */
export async function selectNamesInPlans(
  sql: Sql,
  accountId: string,
  ids: readonly number[],
  since: Date,
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<{ id: number; name: string }[]>`
    select distinct on (pipeline_id) pipeline_id as id, pipeline_name as name from plans
    where account_id = ${accountId} and created_at >= ${since} and pipeline_id = any(${[...ids]}::bigint[])
      and pipeline_name is not null
    order by pipeline_id, created_at desc`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}
