import * as contract from '@customer-platform/contracts/agents';
import { integerPosition, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { listAgentRows, selectAgent } from './agents.sql.ts';

/** Lists agents. A cursor stays valid if its agent was archived after the previous page. */
export const listAgents = implement(contract.listAgents, {
  async handle({ account, tx, query }) {
    return await readPage(query, {
      position: integerPosition((id) => selectAgent(tx, account.id, id)),
      rows: (before, limit) => listAgentRows(tx, account.id, before, limit),
      bytes: (row) => row.bytes,
      item: (row) => toAgent(row, account.timezone),
      cursor: 'id',
    });
  },
});
