import { z } from 'zod';
import { clearable, integerId, maxIntegerId, text, timestamp } from '../core/fields.ts';

export const agentStatus = z.enum(['draft', 'live', 'paused', 'archived']);
export type AgentStatus = z.infer<typeof agentStatus>;

/** Actions of a step; an agent uses those switched on for it. */
export const agentAction = z.enum(['send_message', 'add_note', 'follow_up', 'move_stage']);
export type AgentAction = z.infer<typeof agentAction>;

export const approvalMode = z.enum(['plan', 'step', 'none']);
export type ApprovalMode = z.infer<typeof approvalMode>;

const name = text(120, 1);
const role = text(500, 1).meta({
  description: 'Who the agent is to customers and what it should do; part of every prompt.',
});
const model = text(200);
const dailyLimit = z
  .int()
  .min(1)
  .nullable()
  .meta({ description: "Maximum AI tokens per day in the account's timezone; null: no limit." });
const approvalTimeout = z
  .int()
  .min(5)
  .max(2_592_000)
  .meta({ description: 'Seconds after which an undecided plan expires.' });
const pipelines = z.array(integerId).max(100);
const actions = z.array(agentAction).max(agentAction.options.length);
const collections = z.array(integerId).max(100);

export const Agent = z
  .object({
    id: integerId,
    name: z.string(),
    role: z.string(),
    status: agentStatus,
    model: z
      .string()
      .meta({ description: "The agent's own model, or the one in the settings; empty if neither is set." }),
    daily_limit: z.int().nullable(),
    approval_mode: approvalMode,
    approval_timeout_seconds: z.int(),
    pipelines: z.array(integerId),
    actions: z.array(agentAction).meta({ description: 'Actions switched on for this agent.' }),
    collections: z.array(integerId).meta({ description: 'Collections it uses; empty: all.' }),
    live_version: z.int().nullable().meta({ description: 'Number of the live workflow version.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export const AgentInput = z.object({
  name,
  role,
  model: model.default(''),
  daily_limit: dailyLimit.default(null),
  approval_mode: approvalMode.default('plan'),
  approval_timeout_seconds: approvalTimeout.default(259_200),
  pipelines: pipelines
    .default([])
    .meta({ description: 'The agent plans for contacts with an open deal in one of these.' }),
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
  pipelines: clearable(pipelines, []),
  actions: clearable(actions, [...agentAction.options]).meta({ description: 'Null switches on all of them.' }),
  collections: clearable(collections, []),
});

export const agentPath = z.object({ agent_id: integerId.meta({ param: { id: 'AgentId' } }) });

/** An agent as other resources show it. */
export const AgentSummary = z
  .object({ id: integerId, name: z.string(), role: z.string() })
  .meta({ id: 'AgentSummary' });
export type AgentSummary = z.infer<typeof AgentSummary>;

export const aiProvider = z.enum(['openai_compatible']);
const apiKey = text(500).regex(/^[\x21-\x7e]*$/, { error: 'must be printable ASCII without spaces' });
const tokens = z.int().min(1);
const price = z.number().min(0).max(1_000_000);
const Price = z.object({ prompt: price, completion: price }).meta({ id: 'ModelPrice' });
const baseUrl = text(2_048);
const pipelineKey = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: 'must be the id of a pipeline', abort: true })
  .refine((key) => Number(key) <= maxIntegerId, { error: 'must be the id of a pipeline' });
const modelKey = text(200, 1);

export const AgentSettings = z
  .object({
    provider: aiProvider,
    base_url: z.string().meta({ description: 'Empty until it is set; without it, no plan can be made.' }),
    api_key_set: z.boolean().meta({ description: 'Whether an API key is stored; the key is never returned.' }),
    model: z.string(),
    daily_budget: z
      .int()
      .nullable()
      .meta({ description: 'AI tokens per day for all agents together; null: no budget.' }),
    pipeline_budgets: z.record(z.string(), z.int()).meta({ description: 'AI tokens per day, by pipeline id.' }),
    prices: z.record(z.string(), Price).meta({ description: 'USD per million tokens, by model.' }),
  })
  .meta({ id: 'AgentSettings' });
export type AgentSettings = z.infer<typeof AgentSettings>;

export const AgentSettingsChange = z.object({
  provider: aiProvider.optional(),
  base_url: clearable(baseUrl, '').meta({
    description:
      'Base URL of an OpenAI-compatible API, such as https://api.openai.com/v1; null or an empty string removes it. Changing the host removes the API key unless a new one is given.',
  }),
  api_key: clearable(apiKey, '').meta({ description: 'Write-only; null or an empty string removes it.' }),
  model: clearable(model, ''),
  daily_budget: tokens.nullable().optional(),
  pipeline_budgets: z
    .record(pipelineKey, tokens.nullable())
    .nullable()
    .optional()
    .meta({ description: 'Merged by key; null removes a key, or all of them.' }),
  prices: z
    .record(modelKey, Price.nullable())
    .nullable()
    .optional()
    .meta({ description: 'Merged by key; null removes a key, or all of them.' }),
});
