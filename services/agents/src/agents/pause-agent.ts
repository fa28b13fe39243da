import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { refuseArchived, toAgent } from './agent.ts';
import { lockAgent, updateAgentStatus } from './agents.sql.ts';

export const pauseAgent = implement(contract.pauseAgent, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, found, fail }) {
    refuseArchived(found);
    if (found.status === 'draft') return fail('invalid_state', 'The agent is a draft; only a live one can be paused');
    if (found.status === 'live') await updateAgentStatus(tx, account.id, found.id, 'paused');
    return toAgent({ ...found, status: 'paused' }, account.timezone);
  },
});
