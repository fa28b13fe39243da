import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/agents';
import { integerPosition, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toPlan } from './plan.ts';
import { hasAgent, hasPlan, listPlanRows, type PlanFilter } from './plans.sql.ts';

export const listPlans = implement(contract.listPlans, {
  async handle(call) {
    const { account, tx, query, fail } = call;
    const { status, agent, contact } = query;
    const filter: PlanFilter = { status, agentId: agent };
    if (agent !== undefined && !(await hasAgent(tx, account.id, agent)))
      return fail('invalid_request', 'agent must be the id of an agent of this account', 'agent');
    if (contact !== undefined) filter.contactId = (await contactOfAccount(call, contact)).id;
    return await readPage(query, {
      position: integerPosition((id) => hasPlan(tx, account.id, id)),
      rows: (after, limit) => listPlanRows(tx, account.id, filter, { after, limit }),
      bytes: (row) => row.bytes,
      item: (row) => toPlan(row, account.timezone),
      cursor: 'id',
    });
  },
});
