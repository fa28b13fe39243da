import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { countAgents, insertAgent, selectAgent } from './agents.sql.ts';
import { namedCollections, namedPipelines } from './named-resources.ts';

/** The usage report has every agent of the account. */
const maxAgents = 200;

export const createAgent = implement(contract.createAgent, {
  async handle(call) {
    const { account, tx, body, now, fail } = call;
    if ((await countAgents(tx, account.id)) >= maxAgents)
      return fail('invalid_state', `An account has at most ${maxAgents} agents that are not deleted; delete one first`);
    const values = {
      ...body,
      actions: [...new Set(body.actions)],
      collections: await namedCollections(tx, account.id, body.collections, []),
      pipelines: namedPipelines(call, body.pipelines, []),
    };
    const id = await insertAgent(tx, account.id, values, now);
    return toAgent((await selectAgent(tx, account.id, id))!, account.timezone);
  },
});
