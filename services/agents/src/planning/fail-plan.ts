import { inWorkTransaction, type WorkCall } from '@customer-platform/service-kit';
import { changePlansAtWork } from '../plans/change-plan.ts';
import { failPlanning } from '../plans/plan-state.ts';
import { selectPlan } from '../plans/plans.sql.ts';
import { settleOpenCalls } from '../usage/ledger.sql.ts';
import * as planning from './planning.sql.ts';
import type { PlanningTools } from './planning-tools.ts';

/**
 * Fails a plan that this claim still holds. A plan without an agent gets `agentId` first. If that is null too, deletes the plan, since no
 * one could see it.
 */
export async function failPlan(
  claim: planning.Claim,
  tools: PlanningTools,
  lastError: string,
  agentId: number | null = null,
): Promise<void> {
  await inWorkTransaction({ ...tools, resources: undefined }, async (call) => {
    const { tx, now, log } = call;
    const held = await planning.holdPlan(tx, claim);
    if (!held) return;
    if (held.agent_id === null && agentId === null) {
      log.warn({ plan: claim.id, reason: lastError }, 'no agent found for an inbound message');
      return await planning.dropPlan(tx, claim);
    }
    if (held.agent_id === null) await planning.assignAgent(tx, claim, agentId!);
    await settleOpenCalls(tx, claim.account_id, claim.id, now);
    await failHeldPlan(call, claim, lastError);
  });
}

/** Fails a locked plan that has an agent, and emits its event. */
export async function failHeldPlan(
  call: WorkCall<undefined>,
  { account_id, id }: planning.Claim,
  lastError: string,
): Promise<void> {
  const plan = await selectPlan(call.tx, account_id, id);
  if (!plan) throw new Error(`cannot fail plan ${id} because it has no agent`);
  await changePlansAtWork(call, [plan], (row) => failPlanning(row, lastError));
}
