import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { approveStep } from './plan-state.ts';

/** Approves a step. The first approval of a step approves the plan. */
export const approvePlanStep = implement(contract.approvePlanStep, {
  find: findStep,
  handle: (call) => decidePlan(call, call.found.plan, (plan, decision) => approveStep(plan, call.found.step, decision)),
  committed: ({ stepRunner }) => stepRunner.wake(),
});
