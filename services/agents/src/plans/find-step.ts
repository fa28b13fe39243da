import type { approvePlanStep } from '@customer-platform/contracts/agents';
import type { Call } from '@customer-platform/service-kit';
import { lockPlan } from './plans.sql.ts';

type StepCall = Pick<Call<typeof approvePlanStep>, 'account' | 'tx' | 'params'>;

/** Locks a plan and returns it with the requested step. Returns undefined if the plan or the step does not exist. */
export async function findStep({ account, tx, params }: StepCall) {
  const plan = await lockPlan(tx, account.id, params.plan_id);
  const step = plan?.steps.find(({ id }) => id === params.step_id);
  return plan && step && { plan, step };
}
