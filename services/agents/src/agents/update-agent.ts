import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/agents';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { refuseArchived, toAgent } from './agent.ts';
import { lockAgent, selectAgent, updateAgentRow } from './agents.sql.ts';
import { namedCollections, namedPipelines } from './named-resources.ts';

export const updateAgent = implement(contract.updateAgent, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle(call) {
    const { account, tx, body, found } = call;
    const { pipelines, collections, actions, ...plain } = body;
    const values = {
      ...applyPatch(found, plain),
      actions: actions ? [...new Set(actions)] : found.actions,
      collections: collections
        ? await namedCollections(tx, account.id, collections, found.collections)
        : found.collections,
      pipelines: pipelines ? namedPipelines(call, pipelines, found.pipelines) : found.pipelines,
    };
    if (isDeepStrictEqual(found, values)) return toAgent(found, account.timezone);
    refuseArchived(found);
    await updateAgentRow(tx, account.id, found.id, values);
    return toAgent((await selectAgent(tx, account.id, found.id))!, account.timezone);
  },
});
