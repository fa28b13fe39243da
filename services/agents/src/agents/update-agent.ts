import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toAgent } from './agent.ts';
import { type AgentValues, lockAgent, selectAgent, updateAgentRow } from './agents.sql.ts';
import { refuseArchived } from './archived.ts';
import { namedCollections, namedPipelines } from './named-resources.ts';

export const updateAgent = implement(contract.updateAgent, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle(call) {
    const { account, tx, body, found } = call;
    const before: AgentValues = {
      name: found.name,
      role: found.role,
      model: found.model,
      daily_limit: found.daily_limit,
      approval_mode: found.approval_mode,
      approval_timeout_seconds: found.approval_timeout_seconds,
      pipelines: found.pipelines,
      actions: found.actions,
      collections: found.collections,
    };
    const { pipelines, collections, actions, ...plain } = body;
    const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
    const values: AgentValues = {
      ...before,
      ...given,
      actions: actions ? [...new Set(actions)] : found.actions,
      collections: collections
        ? await namedCollections(tx, account.id, collections, found.collections)
        : found.collections,
      pipelines: pipelines ? namedPipelines(call, pipelines, found.pipelines) : found.pipelines,
    };
    if (isDeepStrictEqual(before, values)) return toAgent(found, account.timezone);
    refuseArchived(found);
    await updateAgentRow(tx, account.id, found.id, values);
    return toAgent((await selectAgent(tx, account.id, found.id))!, account.timezone);
  },
});
