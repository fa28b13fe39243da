import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/agents';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toPlan } from './plan.ts';
import { hasAgent, hasPlan, listPlanRows, type PlanFilter } from './plans.sql.ts';

export const listPlans = implement(contract.listPlans, {
  async handle(call) {
    const { account, tx, query, fail } = call;
    const { limit, status, agent, contact, starting_after: cursor } = query;
    const filter: PlanFilter = { status, agentId: agent };
    if (agent !== undefined && !(await hasAgent(tx, account.id, agent)))
      return fail('invalid_request', 'agent must be the id of an agent of this account', 'agent');
    if (contact !== undefined) filter.contactId = (await contactOfAccount(call, contact)).id;
    const last = cursor === undefined ? undefined : integerCursor(cursor);
    if (last !== undefined && !(await hasPlan(tx, account.id, last))) throw badCursor();
    const rows = await listPlanRows(tx, account.id, filter, last, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toPlan(row, account.timezone),
      (row) => row.id,
    );
  },
});
