import type { Sql } from '@customer-platform/service-kit';

/** Number of settled calls, and their tokens. */
export interface UsedTokens {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  tokens: number;
  /** The part of `tokens` used on the last day. */
  tokens_today: number;
}

/** Tokens of settled calls, with one grouping per section of the report. */
export interface Usage {
  days: (UsedTokens & { day: string; agent_id: number })[];
  purposes: (UsedTokens & { agent_id: number; kind: string })[];
  /** Without the tokens of plans that have no pipeline. */
  pipelines: (UsedTokens & { pipeline_id: number })[];
  models: (UsedTokens & { provider: string; model: string })[];
}

/**
 * Returns the tokens of settled calls from the date `from` to the date `to`, without reservations. PostgreSQL sums them, because an
 * account may have a row per agent, pipeline, model and day.
 */
export async function selectUsage(sql: Sql, accountId: string, from: string, to: string): Promise<Usage> {
  const rows = await sql<(Usage[keyof Usage][number] & { part: keyof Usage })[]>`
    select case when grouping(day) = 0 then 'days' when grouping(kind) = 0 then 'purposes'
        when grouping(pipeline_id) = 0 then 'pipelines' else 'models' end as part,
      day::text as day, agent_id, pipeline_id, kind, provider, model, sum(calls)::bigint as calls,
      sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
      sum(prompt_tokens + completion_tokens)::bigint as tokens,
      coalesce(sum(prompt_tokens + completion_tokens) filter (where day = ${to}::text::date), 0)::bigint as tokens_today
    from usage_days
    where account_id = ${accountId} and day between ${from}::text::date and ${to}::text::date and calls > 0
    group by grouping sets ((day, agent_id), (agent_id, kind), (pipeline_id), (provider, model))
    order by day, agent_id`;
  const parts = Map.groupBy(rows, ({ part }) => part);
  const of = <Part extends keyof Usage>(part: Part) => (parts.get(part) ?? []) as unknown as Usage[Part];
  const pipelines = of('pipelines').filter(({ pipeline_id }) => pipeline_id !== 0);
  return { days: of('days'), purposes: of('purposes'), pipelines, models: of('models') };
}

/** Returns the number of plans that each agent made since an instant, by agent id. */
export async function countPlans(sql: Sql, accountId: string, since: Date): Promise<Map<number, number>> {
  const rows = await sql<{ agent_id: number; plans: number }[]>`
    select agent_id, count(*) as plans from plans
    where account_id = ${accountId} and created_at >= ${since} and agent_id is not null group by agent_id`;
  return new Map(rows.map(({ agent_id, plans }) => [agent_id, plans]));
}

/** Returns the name that each pipeline has in its newest plan since an instant. */
export async function selectNamesInPlans(
  sql: Sql,
  accountId: string,
  ids: readonly number[],
  since: Date,
): Promise<Map<number, string>> {
  const rows = await sql<{ id: number; name: string }[]>`
    select distinct on (pipeline_id) pipeline_id as id, pipeline_name as name from plans
    where account_id = ${accountId} and created_at >= ${since} and pipeline_id = any(${[...ids]}::bigint[])
      and pipeline_name is not null
    order by pipeline_id, created_at desc`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}
