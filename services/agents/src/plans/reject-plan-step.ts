import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { findStep } from './find-step.ts';
import { rejectStep } from './plan-state.ts';

export const rejectPlanStep = implement(contract.rejectPlanStep, {
  find: findStep,
  handle(call) {
    const { plan, step } = call.found;
    return decidePlan(call, plan, (locked, decision) => rejectStep(locked, step, decision));
  },
  committed: ({ stepRunner }) => stepRunner.wake(),
});
