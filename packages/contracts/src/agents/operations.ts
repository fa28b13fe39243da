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
  summary: 'Lists agents, newest first, without those that were deleted',
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(Agent),
  errors: [],
});

export const createAgent = operation('createAgent', {
  method: 'POST',
  path: '/v1/agents',
  scope: write,
  summary: 'Makes an agent, as a draft',
  body: AgentInput,
  status: 201,
  answer: Agent,
  errors: [],
});

export const getAgentSettings = operation('getAgentSettings', {
  method: 'GET',
  path: '/v1/agents/settings',
  scope: read,
  summary: "Reads the account's AI provider, budgets and prices",
  status: 200,
  answer: AgentSettings,
  errors: [],
});

export const updateAgentSettings = operation('updateAgentSettings', {
  method: 'PATCH',
  path: '/v1/agents/settings',
  scope: write,
  summary: "Changes the account's AI provider, budgets and prices",
  body: AgentSettingsChange,
  status: 200,
  answer: AgentSettings,
  errors: [],
});

export const getAgentUsage = operation('getAgentUsage', {
  method: 'GET',
  path: '/v1/agents/usage',
  scope: read,
  summary: 'Reports the AI tokens that were used',
  query: z.object({ days: usageDays.default(14).meta({ description: 'Today and the days before: 7, 14 or 30.' }) }),
  status: 200,
  answer: AgentUsage,
  errors: [],
});

export const getAgent = operation('getAgent', {
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  scope: read,
  summary: 'Reads an agent; an archived one too',
  params: agentPath,
  status: 200,
  answer: Agent,
  errors: ['not_found'],
});

export const updateAgent = operation('updateAgent', {
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  scope: write,
  summary: 'Changes an agent',
  params: agentPath,
  body: AgentChange,
  status: 200,
  answer: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const deleteAgent = operation('deleteAgent', {
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  scope: write,
  summary: 'Deletes an agent; one that was live is archived',
  description:
    'An archived agent is switched off and leaves its pipelines, its open plans stop, and what it did can still be read.',
  params: agentPath,
  status: 200,
  answer: z.object({ outcome: z.enum(['deleted', 'archived']) }),
  errors: ['not_found'],
});

export const goLiveAgent = operation('goLiveAgent', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/go-live',
  scope: write,
  summary: 'Has an agent make plans; its workflow must be published',
  params: agentPath,
  body: z.object({}),
  status: 200,
  answer: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const pauseAgent = operation('pauseAgent', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/pause',
  scope: write,
  summary: 'Has a live agent make no more plans; those that it made go on',
  params: agentPath,
  body: z.object({}),
  status: 200,
  answer: Agent,
  errors: ['not_found', 'invalid_state'],
});

export const getWorkflowDraft = operation('getWorkflowDraft', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/draft',
  scope: read,
  summary: "Shows the draft of an agent's workflow; 404 where there is none",
  params: agentPath,
  status: 200,
  answer: WorkflowDraft,
  errors: ['not_found'],
});

export const putWorkflowDraft = operation('putWorkflowDraft', {
  method: 'PUT',
  path: '/v1/agents/{agent_id}/workflow/draft',
  scope: write,
  summary: "Replaces the draft of an agent's workflow",
  params: agentPath,
  body: WorkflowDraftInput,
  status: 200,
  answer: WorkflowDraft,
  errors: ['not_found', 'invalid_state'],
});

export const publishWorkflow = operation('publishWorkflow', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/workflow/publish',
  scope: write,
  summary: 'Makes the draft the next version, which is live from then on',
  params: agentPath,
  body: PublishInput,
  status: 201,
  answer: WorkflowVersion,
  errors: ['not_found', 'invalid_state'],
});

export const listWorkflowVersions = operation('listWorkflowVersions', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/versions',
  scope: read,
  summary: 'Lists the versions of a workflow, newest first',
  params: agentPath,
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(WorkflowVersion),
  errors: ['not_found'],
});

export const getWorkflowVersion = operation('getWorkflowVersion', {
  method: 'GET',
  path: '/v1/agents/{agent_id}/workflow/versions/{number}',
  scope: read,
  summary: 'Shows a version of a workflow with its blocks',
  params: versionPath,
  status: 200,
  answer: WorkflowVersionDetail,
  errors: ['not_found'],
});

export const rollBackWorkflow = operation('rollBackWorkflow', {
  method: 'POST',
  path: '/v1/agents/{agent_id}/workflow/versions/{number}/rollback',
  scope: write,
  summary: 'Makes an earlier version the next one; the draft stays as it is',
  params: versionPath,
  status: 201,
  answer: WorkflowVersion,
  errors: ['not_found', 'invalid_state'],
});
