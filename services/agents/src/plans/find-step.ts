import type { Sql } from '@customer-platform/service-kit';
import { lockPlan, type PlanRow, type StepRow } from './plans.sql.ts';

/** Locks a plan. Returns it with one of its steps, or undefined if it has none with this id. */
export async function findStep(call: {
  account: { id: string };
  tx: Sql;
  params: { plan_id: number; step_id: number };
}): Promise<{ plan: PlanRow; step: StepRow } | undefined> {
  const { account, tx, params } = call;
  const plan = await lockPlan(tx, account.id, params.plan_id);
  const step = plan?.steps.find(({ id }) => id === params.step_id);
  return plan && step && { plan, step };
}
