import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { refuseArchived, toAgent } from './agent.ts';
import { lockAgent, updateAgentStatus } from './agents.sql.ts';

export const goLiveAgent = implement(contract.goLiveAgent, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, found, fail }) {
    refuseArchived(found);
    if (found.live_version === null) {
      return fail('invalid_state', 'The agent has no published workflow; PUT its draft and publish it first');
    }
    if (found.status !== 'live') await updateAgentStatus(tx, account.id, found.id, 'live');
    return toAgent({ ...found, status: 'live' }, account.timezone);
  },
});
