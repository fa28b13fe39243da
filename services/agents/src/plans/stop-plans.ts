import type { Sql } from '@customer-platform/service-kit';

/**
 * Cancels every open plan of an agent, those that are still being made too. What has not begun is not done; a step that runs ends
 * as it ends. `note` says why.
 */
export async function stopPlansOfAgent(tx: Sql, accountId: string, agentId: number, note: string): Promise<void> {
  // In the order in which all who change many plans lock them.
  await tx`
    select 1 from plans where account_id = ${accountId} and agent_id = ${agentId} and status in ('awaiting_approval', 'running')
    order by id for update`;
  const stopped = await tx<{ id: number }[]>`
    update plans set status = 'cancelled', decision_note = ${note}, planning_due_at = null, lapses_at = null
    where account_id = ${accountId} and agent_id = ${agentId} and status in ('awaiting_approval', 'running')
    returning id`;
  if (stopped.length === 0) return;
  // A statement of its own: it sees the steps of a plan that was made while its lock was waited for.
  await tx`
    update plan_steps set status = 'cancelled', due_at = null
    where account_id = ${accountId} and plan_id = any(${stopped.map(({ id }) => id)}::bigint[])
      and status in ('pending', 'awaiting_approval')`;
}
