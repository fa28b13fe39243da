import * as contract from '@customer-platform/contracts/agents';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { listAgentRows, selectAgent } from './agents.sql.ts';

/** A page may begin after an agent that was archived since the page before. */
export const listAgents = implement(contract.listAgents, {
  async handle({ account, tx, query }) {
    const { limit, starting_after: cursor } = query;
    const before = cursor === undefined ? undefined : integerCursor(cursor);
    if (before !== undefined && !(await selectAgent(tx, account.id, before))) throw badCursor();
    const rows = await listAgentRows(tx, account.id, before, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toAgent(row, account.timezone),
      (row) => row.id,
    );
  },
});
