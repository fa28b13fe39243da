import type { PlanStatus, StepStatus } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import { unbegunStatuses } from './plan-state.ts';
import { isOpenPlan } from './plans.sql.ts';

const cancelled = 'cancelled' satisfies PlanStatus & StepStatus;

/** Returns whether an agent has more than `most` open plans. */
export async function hasMoreOpenPlans(tx: Sql, accountId: string, agentId: number, most: number): Promise<boolean> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from (
      select from plans where account_id = ${accountId} and agent_id = ${agentId} and ${isOpenPlan(tx)} limit ${most + 1}) as open`;
  return row!.count > most;
}

/**
 * Cancels every open plan of an agent, like `cancel` of plan-state.ts, including plans being made. `note` is the reason.
 */
export async function stopPlansOfAgent(tx: Sql, accountId: string, agentId: number, note: string): Promise<void> {
  // Locks in id order, like every bulk update, to avoid deadlocks.
  await tx`
    select 1 from plans where account_id = ${accountId} and agent_id = ${agentId} and ${isOpenPlan(tx)}
    order by id for update`;
  const stopped = await tx<{ id: number }[]>`
    update plans set status = ${cancelled}, decision_note = ${note}, planning_due_at = null, lapses_at = null
    where account_id = ${accountId} and agent_id = ${agentId} and ${isOpenPlan(tx)}
    returning id`;
  if (stopped.length === 0) return;
  // Only a separate statement sees steps of a plan that was made while the first statement waited for its lock.
  await tx`
    update plan_steps set status = ${cancelled}, due_at = null
    where account_id = ${accountId} and plan_id = any(${stopped.map(({ id }) => id)}::bigint[])
      and status = any(${[...unbegunStatuses]}::text[])`;
}
