import { z } from 'zod';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { Agent, AgentChange, AgentInput, AgentSettings, AgentSettingsChange, agentPath } from './agents.ts';
import { AgentUsage, usageDays } from './usage.ts';
import {
  PublishInput,
  versionPath,
  WorkflowDraft,
  WorkflowDraftInput,
  WorkflowVersion,
  WorkflowVersionDetail,
} from './workflow.ts';

const operation = operationsOf('agents', 'agents');
const read = 'agents:read';
const write = 'agents:write';

export const listAgents = operation('listAgents', {
  method: 'GET',
  path: '/v1/agents',
  scope: read,
  summary: 'List agents',
  description: 'Newest first, without deleted and archived agents.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Agent),
  errors: [],
});

export const createAgent = operation('createAgent', {
  method: 'POST',
  path: '/v1/agents',
  scope: write,
  summary: 'Create an agent',
  description:
    'A new agent is a draft. An account has at most 200 agents that are not deleted, and 1,000 that were live and deleted within 31 days of their creation; one more is refused with 409 invalid_state.',
  body: AgentInput,
  status: 201,
  response: Agent,
  errors: ['invalid_state'],
});

export const getAgentSettings = operation('getAgentSettings', {
  method: 'GET',
  path: '/v1/agents/settings',
  scope: read,
  summary: 'Retrieve the agent settings',
  description: 'AI provider, budgets and prices of the account.',
  status: 200,
  response: AgentSettings,
  errors: [],
});

export const updateAgentSettings = operation('updateAgentSettings', {
  method: 'PATCH',
  path: '/v1/agents/settings',
  scope: write,
  summary: 'Update the agent settings',
  description: 'AI provider, budgets and prices of the account.',
  body: AgentSettingsChange,
  status: 200,
  response: AgentSettings,
  errors: [],
});

export const getAgentUsage = operation('getAgentUsage', {
  method: 'GET',
  path: '/v1/agents/usage',
  scope: read,
  summary: 'Report AI token usage',
  description:
    "Days begin at midnight in the account's timezone, and the last one is today. Costs are known for models whose price is in the settings. Of more than 1,000 pipelines those with the most tokens are listed.",
  query: z.object({ days: usageDays.default(14).meta({ description: 'Number of days up to today: 7, 14 or 30.' }) }),
  status: 200,
  response: AgentUsage,
  errors: [],
});

export const getAgent = operation('getAgent', {
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  scope: read,
  summary: 'Retrieve an agent',
  description: 'Returns archived agents too.',
  params: agentPath,
  status: 200,
  response: Agent,
  errors: ['not_found'],
});

export const updateAgent = operation('updateAgent', {
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  scope: write,
  summary: 'Update an agent',
  description: 'A change applies to plans that are made from now on; lists are replaced whole.',
  params: agentPath,
  body: AgentChange,
  status: 200,
  response: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const deleteAgent = operation('deleteAgent', {
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  scope: write,
  summary: 'Delete an agent',
  description:
    'An agent that has been live is archived instead: it is switched off and leaves its pipelines, its open plans are cancelled, and its activity stays readable. One with more than 10,000 open plans is refused with 409 invalid_state.',
  params: agentPath,
  status: 200,
  response: z.object({
    outcome: z.enum(['deleted', 'archived']).meta({
      description: '`deleted`: it had never been live, and is gone. `archived`: its history can still be read.',
    }),
  }),
  errors: ['not_found', 'invalid_state'],
});

export const goLiveAgent = operation('goLiveAgent', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/go-live',
  scope: write,
  summary: 'Take an agent live',
  description: 'A live agent makes plans. Its workflow must be published first.',
  params: agentPath,
  body: z.object({}),
  status: 200,
  response: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const pauseAgent = operation('pauseAgent', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/pause',
  scope: write,
  summary: 'Pause a live agent',
  description: 'A paused agent makes no new plans; its open plans continue.',
  params: agentPath,
  body: z.object({}),
  status: 200,
  response: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const getWorkflowDraft = operation('getWorkflowDraft', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/draft',
  scope: read,
  summary: 'Retrieve the workflow draft',
  description: 'Returns 404 if the agent has no draft.',
  params: agentPath,
  status: 200,
  response: WorkflowDraft,
  errors: ['not_found'],
});

export const putWorkflowDraft = operation('putWorkflowDraft', {
  method: 'PUT',
  path: '/v1/agents/{agent_id}/workflow/draft',
  scope: write,
  summary: 'Replace the workflow draft',
  description:
    'The draft has no effect until it is published. Its blocks have at most 256 KiB, and 20,000 commas and brackets, as JSON. An archived agent takes none.',
  params: agentPath,
  body: WorkflowDraftInput,
  status: 200,
  response: WorkflowDraft,
  errors: ['not_found', 'invalid_state'],
});

export const publishWorkflow = operation('publishWorkflow', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/workflow/publish',
  scope: write,
  summary: 'Publish the workflow draft',
  description:
    'The draft becomes the next version, which is live immediately. A workflow has at most 1,000 versions; one more is refused with 409 invalid_state.',
  params: agentPath,
  body: PublishInput,
  status: 201,
  response: WorkflowVersion,
  errors: ['not_found', 'invalid_state'],
});

export const listWorkflowVersions = operation('listWorkflowVersions', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/versions',
  scope: read,
  summary: 'List workflow versions',
  description: 'Newest first, with the number of their blocks: retrieve a version for the blocks.',
  params: agentPath,
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(WorkflowVersion),
  errors: ['not_found'],
});

export const getWorkflowVersion = operation('getWorkflowVersion', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/versions/{number}',
  scope: read,
  summary: 'Retrieve a workflow version',
  description: 'Returns the version with its blocks.',
  params: versionPath,
  status: 200,
  response: WorkflowVersionDetail,
  errors: ['not_found'],
});

export const rollBackWorkflow = operation('rollBackWorkflow', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/workflow/versions/{number}/rollback',
  scope: write,
  summary: 'Roll a workflow back',
  description: 'Publishes an earlier version as the next one. The draft does not change.',
  params: versionPath,
  status: 201,
  response: WorkflowVersion,
  errors: ['not_found', 'invalid_state'],
});
