import * as contract from '@customer-platform/contracts/agents';
import { dayMs } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { countAgents, countArchivedSince, insertAgent, selectAgent } from './agents.sql.ts';
import { namedCollections, namedPipelines } from './named-resources.ts';

/** Both limits bound the usage report. It lists all agents of the account, and archived agents with activity in its period. */
const maxAgents = 200;
const maxArchived = { agents: 1_000, days: 31 };

export const createAgent = implement(contract.createAgent, {
  async handle(call) {
    const { account, tx, body, now, fail } = call;
    const values = {
      ...body,
      actions: [...new Set(body.actions)],
      collections: await namedCollections(tx, account.id, body.collections, []),
      pipelines: namedPipelines(call, body.pipelines, []),
    };
    if ((await countAgents(tx, account.id)) >= maxAgents)
      return fail('invalid_state', `An account has at most ${maxAgents} agents that are not deleted; delete one first`);
    const since = new Date(now.getTime() - maxArchived.days * dayMs);
    if ((await countArchivedSince(tx, account.id, since)) >= maxArchived.agents)
      return fail(
        'invalid_state',
        '1,000 agents created in the last 31 days were deleted; update an existing agent or try again later',
      );
    const id = await insertAgent(tx, account.id, values, now);
    return toAgent((await selectAgent(tx, account.id, id))!, account.timezone);
  },
});
