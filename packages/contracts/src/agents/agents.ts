import { z } from 'zod';
import { integerId, maxIntegerId, text, timestamp } from '../core/fields.ts';

export const agentStatus = z.enum(['draft', 'live', 'paused', 'archived']);
export type AgentStatus = z.infer<typeof agentStatus>;

/** What a step can do; an agent does what is switched on for it. */
export const agentAction = z.enum(['send_message', 'add_note', 'follow_up', 'move_stage']);
export type AgentAction = z.infer<typeof agentAction>;

export const approvalMode = z.enum(['plan', 'step', 'none']);
export type ApprovalMode = z.infer<typeof approvalMode>;

const name = text(120, 1);
const role = text(500, 1).meta({
  description: 'What it is to its customers and what it is to do: a part of every prompt.',
});
const model = text(200);
const dailyLimit = z
  .int()
  .min(1)
  .nullable()
  .meta({ description: "AI tokens a day, of the account's zone; null: no limit." });
const approvalTimeout = z
  .int()
  .min(5)
  .max(2_592_000)
  .meta({ description: 'After so many seconds a plan that nobody decided lapses.' });
const pipelines = z.array(integerId).max(100);
const actions = z.array(agentAction).max(agentAction.options.length);
const collections = z.array(integerId).max(100);

export const Agent = z
  .object({
    id: integerId,
    name: z.string(),
    role: z.string(),
    status: agentStatus,
    model: z.string().meta({ description: 'Its own, else that of the settings; empty where there is none.' }),
    daily_limit: z.int().nullable(),
    approval_mode: approvalMode,
    approval_timeout_seconds: z.int(),
    pipelines: z.array(integerId),
    actions: z.array(agentAction).meta({ description: 'What is switched on for it.' }),
    collections: z.array(integerId).meta({ description: 'What it answers from; none named: all.' }),
    live_version: z.int().nullable().meta({ description: 'The number of the workflow version that is live.' }),
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
  pipelines: pipelines.default([]).meta({ description: 'It plans for contacts with an open deal in one of these.' }),
  actions: actions.default([...agentAction.options]),
  collections: collections.default([]),
});
export type AgentInput = z.output<typeof AgentInput>;

export const AgentChange = z.object({
  name: name.optional(),
  role: role.optional(),
  model: model.optional().meta({ description: '"" : that of the settings.' }),
  daily_limit: dailyLimit.optional(),
  approval_mode: approvalMode.optional(),
  approval_timeout_seconds: approvalTimeout.optional(),
  pipelines: pipelines.optional(),
  actions: actions.optional(),
  collections: collections.optional(),
});

export const agentPath = z.object({ agent_id: integerId.meta({ param: { id: 'AgentId' } }) });

/** An agent as others show it. */
export const AgentSummary = z.object({ id: integerId, name: z.string(), role: z.string() });
export type AgentSummary = z.infer<typeof AgentSummary>;

const apiKey = text(500).regex(/^[\x21-\x7e]*$/, { error: 'must be printable ASCII without blanks' });
const tokens = z.int().min(1);
const price = z.number().min(0).max(1_000_000);
const Price = z.object({ prompt: price, completion: price });
const baseUrl = text(2_048);
const pipelineKey = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: 'must be the id of a pipeline', abort: true })
  .refine((key) => Number(key) <= maxIntegerId, { error: 'must be the id of a pipeline' });
const modelKey = text(200, 1);

export const AgentSettings = z
  .object({
    provider: z.enum(['openai_compatible']),
    base_url: z.string().meta({ description: 'Empty until it is set: no plan can be made.' }),
    api_key_set: z.boolean().meta({ description: 'Whether there is a key; it never comes back out.' }),
    model: z.string(),
    daily_budget: z.int().nullable().meta({ description: 'AI tokens a day of all agents; null: no budget.' }),
    pipeline_budgets: z.record(z.string(), z.int()).meta({ description: 'AI tokens a day, by pipeline id.' }),
    prices: z.record(z.string(), Price).meta({ description: 'USD per million tokens, by model.' }),
  })
  .meta({ id: 'AgentSettings' });
export type AgentSettings = z.infer<typeof AgentSettings>;

export const AgentSettingsChange = z.object({
  provider: z.enum(['openai_compatible']).optional(),
  base_url: baseUrl.optional().meta({
    description:
      'Of an OpenAI-compatible API, such as https://api.openai.com/v1; "" takes it away. With another host the key goes, unless it is given anew.',
  }),
  api_key: apiKey.optional().meta({ description: 'Write-only; "" takes it away.' }),
  model: model.optional(),
  daily_budget: tokens.nullable().optional(),
  pipeline_budgets: z
    .record(pipelineKey, tokens.nullable())
    .optional()
    .meta({ description: 'Merged by key; null takes one away.' }),
  prices: z.record(modelKey, Price.nullable()).optional().meta({ description: 'Merged by key; null takes one away.' }),
});
