import { z } from 'zod';
import { clearable, integerId, maxIntegerId, text, timestamp } from '../core/fields.ts';

export const agentStatus = z.enum(['draft', 'live', 'paused', 'archived']).meta({
  description:
    '`draft`: it has never been live. `live`: it makes plans. `paused`: it makes no new plans. `archived`: it was deleted after it had been live.',
});
export type AgentStatus = z.infer<typeof agentStatus>;

/** Actions of a step. An agent uses only the actions in its `actions`. */
export const agentAction = z.enum(['send_message', 'add_note', 'follow_up', 'move_stage']).meta({
  description:
    '`send_message` sends a message to the contact. `add_note` adds a note to the deal. `follow_up` makes another plan later. `move_stage` moves the deal.',
});
export type AgentAction = z.infer<typeof agentAction>;

export const approvalMode = z.enum(['plan', 'step', 'none']).meta({
  description:
    '`plan`: a plan is approved or rejected as a whole. `step`: each step is approved or rejected separately. `none`: plans run without approval.',
});
export type ApprovalMode = z.infer<typeof approvalMode>;

const name = text(120, 1).meta({ description: 'Name of the agent, shown in plans and part of every prompt.' });
const role = text(500, 1).meta({
  description: 'Who the agent is to customers and what it does; part of every prompt.',
});
const model = text(200).meta({ description: "The AI provider's name for a model, such as `gpt-5-mini`." });
const dailyLimit = z.int().min(1).nullable().meta({
  description:
    "Maximum AI tokens per day in the account's timezone. A plan that could exceed it fails. Null: no limit.",
});
const approvalTimeout = z
  .int()
  .min(5)
  .max(2_592_000)
  .meta({ description: 'Seconds from the making of a plan until it expires if nobody has decided.' });
const pipelines = z.array(integerId).max(100).meta({
  description:
    'Ids of pipelines. The agent plans when a contact with an open deal in one of them writes. Without pipelines, it plans only on request.',
});
const actions = z
  .array(agentAction)
  .max(agentAction.options.length)
  .meta({ description: 'Actions that plans of the agent can contain.' });
const collections = z
  .array(integerId)
  .max(100)
  .meta({ description: 'Ids of the knowledge collections that the agent uses; empty: all.' });

export const Agent = z
  .object({
    id: integerId.meta({ description: 'Id of the agent in paths and filters.' }),
    name: z.string().meta({ description: name.description }),
    role: z.string().meta({ description: role.description }),
    status: agentStatus,
    model: z
      .string()
      .meta({ description: "The agent's own model, or the model in the settings; empty if neither is set." }),
    daily_limit: z.int().nullable().meta({ description: dailyLimit.description }),
    approval_mode: approvalMode,
    approval_timeout_seconds: z.int().meta({ description: approvalTimeout.description }),
    pipelines: z.array(integerId).meta({ description: pipelines.description }),
    actions: z.array(agentAction).meta({ description: actions.description }),
    collections: z.array(integerId).meta({ description: collections.description }),
    live_version: z
      .int()
      .nullable()
      .meta({ description: 'Number of the live workflow version; null until one is published.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Agent', description: "An AI agent that makes plans for the account's contacts." });
export type Agent = z.infer<typeof Agent>;

export const AgentInput = z.object({
  name,
  role,
  model: model.default('').meta({ description: "The agent's own model; empty: the model in the settings." }),
  daily_limit: dailyLimit.default(null),
  approval_mode: approvalMode.default('plan'),
  approval_timeout_seconds: approvalTimeout.default(259_200),
  pipelines: pipelines.default([]),
  actions: actions.default([...agentAction.options]),
  collections: collections.default([]),
});
export type AgentInput = z.output<typeof AgentInput>;

export const AgentChange = z.object({
  name: name.optional(),
  role: role.optional(),
  model: clearable(model, '').meta({ description: 'Null or an empty string uses the model in the settings.' }),
  daily_limit: dailyLimit.optional(),
  approval_mode: approvalMode.optional(),
  approval_timeout_seconds: approvalTimeout.optional(),
  pipelines: clearable(pipelines, []).meta({
    description: 'Ids of the pipelines that the agent plans for. Replaces the whole list; null: none.',
  }),
  actions: clearable(actions, [...agentAction.options]).meta({
    description: 'Actions that plans of the agent can contain. Replaces the whole list; null: all.',
  }),
  collections: clearable(collections, []).meta({
    description: 'Ids of the knowledge collections that the agent uses. Replaces the whole list; null or empty: all.',
  }),
});

export const agentPath = z.object({
  agent_id: integerId.meta({ description: 'Id of an agent.', param: { id: 'AgentId' } }),
});

/** An agent in other resources. */
export const AgentSummary = z
  .object({ id: Agent.shape.id, name: Agent.shape.name, role: Agent.shape.role })
  .meta({ id: 'AgentSummary', description: 'The agent, with its current name and role.' });
export type AgentSummary = z.infer<typeof AgentSummary>;

export const aiProvider = z.enum(['openai_compatible']).meta({
  description: 'Kind of API. `openai_compatible` serves `POST {base_url}/chat/completions` like OpenAI.',
});
const apiKey = text(500).regex(/^[\x21-\x7e]*$/, { error: 'must be printable ASCII without spaces' });
const tokens = z.int().min(1);
const price = z.number().min(0).max(1_000_000);
const Price = z
  .object({
    prompt: price.meta({ description: 'USD per million tokens of prompts.' }),
    completion: price.meta({ description: 'USD per million tokens of completions.' }),
  })
  .meta({ id: 'ModelPrice', description: 'Price of a model at the AI provider.' });
const baseUrl = text(2_048);
const pipelineKey = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: 'must be the id of a pipeline', abort: true })
  .refine((key) => Number(key) <= maxIntegerId, { error: 'must be the id of a pipeline' });
const modelKey = text(200, 1);

export const AgentSettings = z
  .object({
    provider: aiProvider,
    base_url: z.string().meta({
      description: 'Base URL of the AI provider; empty until it is set. Without it, plans fail, except in a sandbox.',
    }),
    api_key_set: z.boolean().meta({ description: 'Whether an API key is stored; the key is never returned.' }),
    model: z.string().meta({
      description: 'Model of agents without their own model. If it is empty, their plans fail.',
    }),
    daily_budget: z.int().nullable().meta({
      description:
        "Maximum AI tokens per day in the account's timezone, for all agents together. A plan that could exceed it fails. Null: no budget.",
    }),
    pipeline_budgets: z
      .record(z.string(), z.int())
      .meta({ description: 'Maximum AI tokens per day, by pipeline id. Other pipelines have no budget.' }),
    prices: z.record(z.string(), Price).meta({ description: 'USD per million tokens, by model.' }),
  })
  .meta({ id: 'AgentSettings', description: 'AI provider, budgets and prices of the account.' });
export type AgentSettings = z.infer<typeof AgentSettings>;

export const AgentSettingsChange = z.object({
  provider: aiProvider.optional(),
  base_url: clearable(baseUrl, '').meta({
    description:
      'Base URL of an OpenAI-compatible API, such as https://api.openai.com/v1; null or an empty string removes it. A different origin (scheme, host or port), or none, removes the API key unless the request gives a new one.',
  }),
  api_key: clearable(apiKey, '').meta({ description: 'Write-only; null or an empty string removes it.' }),
  model: clearable(model, '').meta({
    description: 'Model of agents without their own model; null or an empty string removes it.',
  }),
  daily_budget: tokens.nullable().optional().meta({ description: AgentSettings.shape.daily_budget.description }),
  pipeline_budgets: z.record(pipelineKey, tokens.nullable()).nullable().optional().meta({
    description:
      'Maximum AI tokens per day, by pipeline id; at most 1,000 entries. The object merges by key; null removes a key, or all keys.',
  }),
  prices: z.record(modelKey, Price.nullable()).nullable().optional().meta({
    description:
      'Prices, by name of the model; at most 1,000 entries. The object merges by key; null removes a key, or all keys.',
  }),
});
