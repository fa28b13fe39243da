import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { decidePlan } from './decide-plan.ts';
import { cancel } from './plan-state.ts';
import { lockPlan } from './plans.sql.ts';

export const cancelPlan = implement(contract.cancelPlan, {
  find: ({ account, tx, params }) => lockPlan(tx, account.id, params.plan_id),
  handle: (call) => decidePlan(call, call.found, cancel),
});
