import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { approveStep } from './plan-state.ts';

/** The first approval of a step is the plan's. */
export const approvePlanStep = implement(contract.approvePlanStep, {
  find: findStep,
  async handle(call) {
    const { plan: row, step } = call.found;
    const decide = (plan: typeof row, decision: Parameters<typeof approveStep>[2]) => approveStep(plan, step, decision);
    const { plan, previous, became } = await decidePlan(call, row, decide);
    if (became === 'approved') call.emit(contract.planApproved, { plan, previous });
    return plan;
  },
  committed: ({ stepRunner }) => stepRunner.wake(),
});
