import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { approveStep } from './plan-state.ts';

/** Approves a step. The first approval of a step approves the plan. */
export const approvePlanStep = implement(contract.approvePlanStep, {
  find: findStep,
  handle(call) {
    const { plan, step } = call.found;
    return decidePlan(call, plan, (locked, decision) => approveStep(locked, step, decision));
  },
  committed: ({ stepRunner }) => stepRunner.wake(),
});
