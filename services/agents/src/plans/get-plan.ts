import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toPlan } from './plan.ts';
import { selectPlan } from './plans.sql.ts';

export const getPlan = implement(contract.getPlan, {
  find: ({ account, tx, params }) => selectPlan(tx, account.id, params.plan_id),
  handle: async ({ account, found }) => toPlan(found, account.timezone),
});
