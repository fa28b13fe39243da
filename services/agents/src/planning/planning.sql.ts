import type { PlanTrigger } from '@customer-platform/contracts/agents';
import type { Contact } from '@customer-platform/contracts/cdp';
import type { NumberedDeal } from '@customer-platform/contracts/crm';
import type { Channel } from '@customer-platform/contracts/messaging';
import { claimed, type Claim as DueClaim, type DueRow, type DueTable, type Sql } from '@customer-platform/service-kit';
import type { AgentRow } from '../agents/agents.sql.ts';

export const plansToMake: DueTable = {
  name: 'plans',
  key: { account_id: 'uuid', id: 'bigint' },
  due: 'planning_due_at',
  attempts: 'planning_tries',
  error: 'planning_error',
};

/**
 * A plan that is being made. `attempts` identifies the claim. Each claim increments it, and only the end of the latest claim can
 * decrement it.
 */
export interface Claim extends DueRow {
  id: number;
  agent_id: number | null;
  contact_id: string;
  trigger: PlanTrigger;
  trigger_text: string;
  trigger_channel: Channel | null;
  trigger_id: string | null;
  follow_ups: number;
  goal: string;
  created_at: Date;
}

/** Claims plans that are due to be made. */
export async function claimPlans(sql: Sql, { due, leasedUntil }: DueClaim): Promise<Claim[]> {
  return await sql<Claim[]>`
    with due as (${due}), claimed as (
      update plans p set ${claimed(sql, plansToMake, leasedUntil)}
      from due where p.account_id = due.account_id and p.id = due.id
      returning p.*
    )
    select account_id, id, agent_id, contact_id, trigger, trigger_text, trigger_channel, trigger_id, follow_ups, goal, created_at,
      planning_tries as attempts, trace
    from claimed order by created_at, id`;
}

const isHeld = (sql: Sql, { account_id, id, attempts }: Claim) => sql`
  plans.account_id = ${account_id} and plans.id = ${id} and plans.status = 'running' and planning_due_at is not null
    and planning_tries = ${attempts}`;

/** Assigns the plan's columns that come from its agent `a`. */
const ofAgent = (sql: Sql) => sql`agent_id = a.id, workflow_version = a.live_version, approval_mode = a.approval_mode`;

/**
 * Locks a plan that is still being made under this claim. Returns its agent, null if none is assigned yet. Returns undefined if the plan
 * was canceled or claimed again.
 */
export async function holdPlan(tx: Sql, claim: Claim): Promise<{ agent_id: number | null } | undefined> {
  const [row] = await tx<{ agent_id: number | null }[]>`
    select agent_id from plans where ${isHeld(tx, claim)} for update`;
  return row;
}

/** Assigns an agent to a locked plan, which makes the plan visible. */
export async function assignAgent(tx: Sql, { account_id, id }: Claim, agentId: number): Promise<void> {
  await tx`
    update plans p set ${ofAgent(tx)}
    from agents a
    where p.account_id = ${account_id} and p.id = ${id} and a.account_id = ${account_id} and a.id = ${agentId}`;
}

/**
 * Locks a plan that is still being made under this claim, and writes its agent, contact, deal and model. The API shows these before the
 * plan is made. Returns false if the plan was canceled or claimed again.
 */
export async function assignPlan(
  tx: Sql,
  claim: Claim,
  { agent, contact, deal, model }: { agent: AgentRow; contact: Contact; deal: NumberedDeal | null; model: string },
): Promise<boolean> {
  const { count } = await tx`
    update plans set ${ofAgent(tx)},
      contact_number = ${contact.number}, deal_id = ${deal?.id ?? null}, deal_number = ${deal?.number ?? null},
      deal_title = ${deal?.title ?? null}, deal_stage = ${deal?.stage.name ?? null}, pipeline_id = ${deal?.pipeline.id ?? null},
      pipeline_name = ${deal?.pipeline.name ?? null}, model = ${model}
    from agents a where ${isHeld(tx, claim)} and a.account_id = plans.account_id and a.id = ${agent.id}`;
  return count === 1;
}

/** Deletes a plan that has no agent. */
export async function dropPlan(sql: Sql, claim: Claim): Promise<void> {
  await sql`delete from plans where ${isHeld(sql, claim)} and agent_id is null`;
}

/** Schedules another attempt to make a plan at `dueAt`, after an error. */
export async function postponePlan(sql: Sql, claim: Claim, dueAt: Date, error: string): Promise<void> {
  await sql`update plans set planning_due_at = ${dueAt}, planning_error = ${error} where ${isHeld(sql, claim)}`;
}

/** Returns the distinct ids of pipelines that live agents of an account work. With very many agents, the pairs could be a million rows. */
export async function selectWorkedPipelines(sql: Sql, accountId: string): Promise<number[]> {
  const [row] = await sql<{ ids: number[] }[]>`
    select array(
      select distinct p.pipeline_id from agents a join agent_pipelines p on p.account_id = a.account_id and p.agent_id = a.id
      where a.account_id = ${accountId} and a.status = 'live' order by p.pipeline_id) as ids`;
  return row!.ids;
}

/** Returns the lowest id of the live agents that work a pipeline; undefined if no agent does. */
export async function selectAgentOfPipeline(
  sql: Sql,
  accountId: string,
  pipelineId: number,
): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    select a.id from agent_pipelines p join agents a on a.account_id = p.account_id and a.id = p.agent_id
    where p.account_id = ${accountId} and p.pipeline_id = ${pipelineId} and a.status = 'live' order by a.id limit 1`;
  return row?.id;
}
