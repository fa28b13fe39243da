import type { AccountContext } from '@customer-platform/contracts/core';
import { changedValues, inWorkTransaction } from '@customer-platform/service-kit';
import { selectAgent } from '../agents/agents.sql.ts';
import { planEvents } from '../plans/change-plan.ts';
import { toPlan } from '../plans/plan.ts';
import { delayed, endPlanning } from '../plans/plan-state.ts';
import { selectPlan, writePlannedPlan } from '../plans/plans.sql.ts';
import { type Claim, holdPlan } from './planning.sql.ts';
import type { PlanningTools } from './planning-tools.ts';
import type { PlannedPlan } from './read-completion.ts';

/** Writes a plan with its steps and its event. Writes nothing if the claim has ended. */
export async function writePlan(
  claim: Claim,
  account: AccountContext,
  { goal, rationale, approvalReasons, steps }: PlannedPlan,
  tools: PlanningTools,
): Promise<void> {
  await inWorkTransaction({ ...tools, resources: undefined }, async ({ tx, now, emit }) => {
    if (!(await holdPlan(tx, claim))) return;
    const former = await selectPlan(tx, account.id, claim.id);
    const agent = former && (await selectAgent(tx, account.id, former.agent_id));
    if (!agent) throw new Error(`the agent of plan ${claim.id} does not exist`);
    const planned = steps.map(({ delayMinutes: delay_minutes, ...step }) => {
      return { ...step, delay_minutes, run_at: delayed(now, delay_minutes) };
    });
    const { plan, became } = endPlanning(agent, { approvalReasons, steps: planned }, now);
    await writePlannedPlan(tx, account.id, claim.id, { ...plan, goal, rationale });
    if (!became) return;
    const current = toPlan((await selectPlan(tx, account.id, claim.id))!, account.timezone);
    const previous = changedValues(toPlan(former, account.timezone), current) ?? {};
    emit(planEvents[became], account, { plan: current, previous }, claim.trace ?? undefined);
  });
}
