import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { selectAgent } from './agents.sql.ts';

export const getAgent = implement(contract.getAgent, {
  find: ({ account, tx, params }) => selectAgent(tx, account.id, params.agent_id),
  handle: async ({ account, found }) => toAgent(found, account.timezone),
});
