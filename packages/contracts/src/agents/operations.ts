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
  description: 'Returns agents that are not archived, newest first.',
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
    'A new agent is a draft. An account has at most 200 agents that are not archived, and 1,000 archived agents created within the last 31 days. One more is refused with 409 invalid_state.',
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
  description: 'Returns the AI provider, budgets and prices of the account.',
  status: 200,
  response: AgentSettings,
  errors: [],
});

export const updateAgentSettings = operation('updateAgentSettings', {
  method: 'PATCH',
  path: '/v1/agents/settings',
  scope: write,
  summary: 'Update the agent settings',
  description: 'Changes the AI provider, budgets and prices of the account.',
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
    "Returns the usage of the last days, up to today. Days begin at midnight in the account's timezone. Costs need the model's price in the settings. At most 1,000 pipelines are listed: those with the most tokens.",
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
  description: 'Returns the agent, even if it is archived.',
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
  description: 'Changes apply to plans that are made from now on. Lists are replaced as a whole.',
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
    'Deletes an agent that has never been live; any other is archived. Archiving stops it, removes it from its pipelines, cancels its open plans and keeps its history. With more than 10,000 open plans, archiving is refused with 409 invalid_state.',
  params: agentPath,
  status: 200,
  response: z.object({
    outcome: z.enum(['deleted', 'archived']).meta({
      description: '`deleted`: the agent had never been live. `archived`: its history can still be read.',
    }),
  }),
  errors: ['not_found', 'invalid_state'],
});

export const goLiveAgent = operation('goLiveAgent', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/go-live',
  scope: write,
  summary: 'Take an agent live',
  description: 'Makes the agent `live`, so that it makes plans. Its workflow must be published first.',
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
  description: 'Returns the draft, or 404 if the agent has none.',
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
    'The draft has no effect until it is published. Its blocks have at most 256 KiB and 20,000 commas and brackets as JSON. An archived agent is refused with 409 invalid_state.',
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
    'Makes the draft the next version, which is live immediately. A workflow has at most 1,000 versions; one more is refused with 409 invalid_state.',
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
  description: 'Returns versions, newest first, with the number of their blocks. Retrieve a version to get its blocks.',
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
  description: 'Publishes an earlier version as the next version. The draft does not change.',
  params: versionPath,
  status: 201,
  response: WorkflowVersion,
  errors: ['not_found', 'invalid_state'],
});
