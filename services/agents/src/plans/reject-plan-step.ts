import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { rejectStep } from './plan-state.ts';

export const rejectPlanStep = implement(contract.rejectPlanStep, {
  find: findStep,
  handle: (call) => decidePlan(call, call.found.plan, (plan, decision) => rejectStep(plan, call.found.step, decision)),
  committed: ({ stepRunner }) => stepRunner.wake(),
});
