import { type Fragment, isInScope, type Scope, type Sql } from '@customer-platform/service-kit';
import { lockSettings } from '../settings/settings.sql.ts';

/** A call to an AI provider that is about to be made. */
export interface NewCall {
  accountId: string;
  /** The date in the account's time zone. */
  day: string;
  agentId: number;
  /** Null if the plan has no pipeline. */
  pipelineId: number | null;
  planId: number;
  kind: 'planning';
  provider: string;
  model: string;
  /** Maximum tokens of the call, prompt and completion together. */
  tokens: number;
}

/** End of a call. */
export interface CallResult {
  /** answered: billed as used. refused: not billed. unknown: no usable response, billed as its whole reservation. */
  outcome: 'answered' | 'refused' | 'unknown';
  /** Like `completionTokens`, ignored unless the outcome is answered. */
  promptTokens: number;
  completionTokens: number;
}

/** Returns the tokens used or reserved on the call's day, and the agent's daily limit. */
export async function selectHeldTokens(tx: Sql, call: NewCall) {
  const { accountId, day, agentId, pipelineId } = call;
  const tokens = tx`prompt_tokens + completion_tokens + reserved_tokens`;
  const [row] = await tx<{ account: number; agent: number; pipeline: number; daily_limit: number | null }[]>`
    select coalesce(sum(${tokens}), 0)::bigint as account,
      coalesce(sum(${tokens}) filter (where agent_id = ${agentId}), 0)::bigint as agent,
      coalesce(sum(${tokens}) filter (where pipeline_id = ${pipelineId ?? 0}), 0)::bigint as pipeline,
      (select daily_limit from agents where account_id = ${accountId} and id = ${agentId}) as daily_limit
    from usage_days where account_id = ${accountId} and day = ${day}::text::date`;
  return row!;
}

/** Maximum models counted separately per account and day, since a model's name can be any string. Others are counted together. */
const maxModels = 100;
const otherModels = 'other models';

/** Inserts a call with its reservation. Returns its id. */
export async function insertCall(tx: Sql, call: NewCall, now: Date): Promise<string> {
  const { accountId, day, agentId, pipelineId, planId, kind, provider, model, tokens } = call;
  const [row] = await tx<{ id: string }[]>`
    with known as (
      select distinct u.provider, u.model from usage_days u where u.account_id = ${accountId} and u.day = ${day}::text::date
    ), begun as (
      insert into ai_calls (account_id, day, agent_id, pipeline_id, plan_id, kind, provider, model, reserved_tokens, began_at)
      select ${accountId}, ${day}::text::date, ${agentId}, ${pipelineId ?? 0}, ${planId}, ${kind}, ${provider},
        case when (select count(*) from known) < ${maxModels}
          or exists (select from known k where k.provider = ${provider} and k.model = ${model}) then ${model} else ${otherModels} end,
        ${tokens}, ${now}
      returning *
    ), held as (
      insert into usage_days (account_id, day, agent_id, pipeline_id, kind, provider, model, reserved_tokens)
      select account_id, day, agent_id, pipeline_id, kind, provider, model, reserved_tokens from begun
      on conflict (account_id, day, agent_id, pipeline_id, kind, provider, model)
      do update set reserved_tokens = usage_days.reserved_tokens + excluded.reserved_tokens
    )
    select id from begun`;
  return row!.id;
}

/** Settles the open calls that match `which`, and updates their daily sums in the same statement. */
const settling = (tx: Sql, which: Fragment, { outcome, promptTokens, completionTokens }: CallResult, now: Date) => tx<
  { tokens: number }[]
>`
  with settled as (
    update ai_calls c set outcome = ${outcome}, ended_at = ${now}, prompt_tokens = ${promptTokens},
      completion_tokens = ${outcome === 'unknown' ? tx`c.reserved_tokens` : tx`${completionTokens}`}
    where c.outcome is null and ${which}
    returning *
  ), sums as (
    select account_id, day, agent_id, pipeline_id, kind, provider, model, count(*) as calls, sum(prompt_tokens) as prompt_tokens,
      sum(completion_tokens) as completion_tokens, sum(reserved_tokens) as reserved_tokens
    from settled group by account_id, day, agent_id, pipeline_id, kind, provider, model
  ), counted as (
    update usage_days u set calls = u.calls + s.calls, prompt_tokens = u.prompt_tokens + s.prompt_tokens,
      completion_tokens = u.completion_tokens + s.completion_tokens, reserved_tokens = u.reserved_tokens - s.reserved_tokens
    from sums s
    where u.account_id = s.account_id and u.day = s.day and u.agent_id = s.agent_id and u.pipeline_id = s.pipeline_id
      and u.kind = s.kind and u.provider = s.provider and u.model = s.model
  )
  select prompt_tokens + completion_tokens as tokens from settled`;

/**
 * Releases a call's reservation and counts its used tokens, also for its plan. Returns the counted tokens, even if the call is already
 * settled.
 */
export async function settleCall(
  tx: Sql,
  { accountId, planId, id }: { accountId: string; planId: number; id: string },
  { outcome, ...used }: CallResult,
  now: Date,
): Promise<number> {
  // To avoid deadlocks, locks the plan before the sums, as reservations do.
  await tx`select 1 from plans where account_id = ${accountId} and id = ${planId} for update`;
  const { promptTokens, completionTokens } = outcome === 'answered' ? used : unknown;
  const result = { outcome, promptTokens, completionTokens };
  const [settled] = await settling(tx, tx`c.account_id = ${accountId} and c.id = ${id}`, result, now);
  if (settled) {
    await addTokens(tx, accountId, planId, settled.tokens);
    return settled.tokens;
  }
  const [counted] = await tx<{ tokens: number }[]>`
    select prompt_tokens + completion_tokens as tokens from ai_calls where account_id = ${accountId} and id = ${id}`;
  if (!counted) throw new Error(`cannot settle call ${id} because it does not exist`);
  return counted.tokens;
}

const unknown: CallResult = { outcome: 'unknown', promptTokens: 0, completionTokens: 0 };

/**
 * Settles a plan's open calls as unknown, after their process died, and counts their tokens, also for the plan. Returns the counted
 * tokens. Until the transaction ends, no other transaction reserves tokens of the account.
 */
export async function settleOpenCalls(tx: Sql, accountId: string, planId: number, now: Date): Promise<number> {
  // To avoid deadlocks, locks the settings before the sums, as reservations do.
  await lockSettings(tx, accountId);
  const rows = await settling(tx, tx`c.account_id = ${accountId} and c.plan_id = ${planId}`, unknown, now);
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
  await addTokens(tx, accountId, planId, tokens);
  return tokens;
}

/** Adds to a plan's tokens, in any status. */
async function addTokens(tx: Sql, accountId: string, planId: number, tokens: number): Promise<void> {
  if (tokens > 0)
    await tx`update plans set tokens = tokens + ${tokens} where account_id = ${accountId} and id = ${planId}`;
}

/** Settles at most `limit` open calls that began before `before` as unknown. Returns their number. */
export async function settleCallsBefore(
  tx: Sql,
  scope: Scope,
  { before, limit }: { before: Date; limit: number },
  now: Date,
): Promise<number> {
  const rows = await settling(
    tx,
    tx`(c.account_id, c.id) in (
      select account_id, id from ai_calls where outcome is null and began_at < ${before} ${isInScope(tx, scope)}
      order by began_at limit ${limit} for update skip locked)`,
    unknown,
    now,
  );
  return rows.length;
}
