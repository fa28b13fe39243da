import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { approve } from './plan-state.ts';
import { lockPlan } from './plans.sql.ts';

export const approvePlan = implement(contract.approvePlan, {
  find: ({ account, tx, params }) => lockPlan(tx, account.id, params.plan_id),
  async handle(call) {
    const { plan, previous, became } = await decidePlan(call, call.found, approve);
    if (became === 'approved') call.emit(contract.planApproved, { plan, previous });
    return plan;
  },
  committed: ({ stepRunner }) => stepRunner.wake(),
});
