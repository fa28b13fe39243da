import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { rejectStep } from './plan-state.ts';

export const rejectPlanStep = implement(contract.rejectPlanStep, {
  find: findStep,
  async handle(call) {
    const { plan: row, step } = call.found;
    const decide = (plan: typeof row, decision: Parameters<typeof rejectStep>[2]) => rejectStep(plan, step, decision);
    const { plan, previous, became } = await decidePlan(call, row, decide);
    if (became === 'rejected') call.emit(contract.planRejected, { plan, previous });
    if (became === 'completed') call.emit(contract.planCompleted, { plan, previous });
    return plan;
  },
  committed: ({ stepRunner }) => stepRunner.wake(),
});
