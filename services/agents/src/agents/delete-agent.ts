import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { hasMoreOpenPlans, stopPlansOfAgent } from '../plans/stop-plans.ts';
import { archiveAgentRow, deleteAgentRow, lockAgent } from './agents.sql.ts';

/** Maximum open plans canceled in one transaction. Each has at most ten steps. */
const maxOpenPlans = 10_000;

export const deleteAgent = implement(contract.deleteAgent, {
  async find({ account, tx, params }) {
    const agent = await lockAgent(tx, account.id, params.agent_id);
    return agent?.status === 'archived' ? undefined : agent;
  },
  async handle({ account, tx, found, fail }) {
    if (!found.was_live) {
      await deleteAgentRow(tx, account.id, found.id);
      return { outcome: 'deleted' as const };
    }
    if (await hasMoreOpenPlans(tx, account.id, found.id, maxOpenPlans)) {
      return fail(
        'invalid_state',
        'The agent has more than 10,000 open plans; pause it and delete it once fewer are open',
      );
    }
    await archiveAgentRow(tx, account.id, found.id);
    await stopPlansOfAgent(tx, account.id, found.id, 'The agent was deleted');
    return { outcome: 'archived' as const };
  },
});
