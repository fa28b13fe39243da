import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { stopPlansOfAgent } from '../plans/stop-plans.ts';
import { archiveAgentRow, deleteAgentRow, lockAgent } from './agents.sql.ts';

export const deleteAgent = implement(contract.deleteAgent, {
  async find({ account, tx, params }) {
    const agent = await lockAgent(tx, account.id, params.agent_id);
    return agent?.status === 'archived' ? undefined : agent;
  },
  async handle({ account, tx, found }) {
    if (!found.was_live) {
      await deleteAgentRow(tx, account.id, found.id);
      return { outcome: 'deleted' as const };
    }
    await archiveAgentRow(tx, account.id, found.id);
    await stopPlansOfAgent(tx, account.id, found.id, 'The agent was deleted');
    return { outcome: 'archived' as const };
  },
});
