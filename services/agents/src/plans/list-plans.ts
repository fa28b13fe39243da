import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/agents';
import { hasRow, integerPosition, readFiltered, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toPlan } from './plan.ts';
import { hasPlan, listPlanRows, type PlanFilter } from './plans.sql.ts';

export const listPlans = implement(contract.listPlans, {
  async handle(call) {
    const { account, tx, query, fail } = call;
    const { status, agent, contact } = query;
    const filter: PlanFilter = { status, agentId: agent };
    if (agent !== undefined && !(await hasRow(tx, 'agents', account.id, agent)))
      return fail('invalid_request', 'agent must be the id of an agent of this account', 'agent');
    if (contact !== undefined) filter.contactId = (await contactOfAccount(call, contact)).id;
    const indexed = [status, agent, contact];
    return await readFiltered(call, 'the search of plans', { indexed }, (sql) =>
      readPage(query, {
        position: integerPosition((id) => hasPlan(sql, account.id, id)),
        rows: (after, limit) => listPlanRows(sql, account.id, filter, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toPlan(row, account.timezone),
        cursor: 'id',
      }),
    );
  },
});
