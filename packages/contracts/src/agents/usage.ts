import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { Agent, AgentSettings, AgentSummary } from './agents.ts';

const tokens = z.int().meta({ description: 'AI tokens of prompts and completions in the period.' });
const tokensToday = z.int().meta({ description: "AI tokens used today, in the account's timezone." });
const calls = z.int().meta({ description: 'Number of calls of the AI provider.' });
const plans = z
  .int()
  .meta({ description: 'Number of plans that were requested or triggered in the period, including failed ones.' });
const cost = z.number().nullable().meta({
  description: 'Cost in USD, from the prices in the settings; null if the price of a model is missing. 0 in a sandbox.',
});

const ranges = [7, 14, 30];
export const usageDays = z
  .int()
  .refine((days) => ranges.includes(days), { error: 'must be 7, 14 or 30' })
  .meta({ enum: ranges });

export const AgentUsage = z
  .object({
    range_days: z.int().meta({ description: 'Number of days in the period, including today: 7, 14 or 30.' }),
    totals: z
      .object({
        tokens,
        prompt_tokens: tokens.meta({ description: 'AI tokens of prompts.' }),
        completion_tokens: tokens.meta({ description: 'AI tokens of completions, including reasoning.' }),
        calls,
        plans,
        estimated_cost_usd: cost,
      })
      .meta({ description: 'Sums over all agents.' }),
    days: z
      .array(
        z
          .object({
            date: z.string().meta({ description: "Day in the account's timezone, as YYYY-MM-DD." }),
            by_agent: z
              .record(z.string(), tokens)
              .meta({ description: 'Tokens by agent id. Agents that used none are left out.' }),
          })
          .meta({ id: 'DailyUsage', description: 'Tokens of one day.' }),
      )
      .meta({
        description: "One entry per day in the account's timezone, oldest first; `by_agent` has the tokens by agent.",
      }),
    agents: z
      .array(
        z
          .object({
            agent: AgentSummary,
            model: Agent.shape.model,
            tokens_today: tokensToday,
            daily_limit: Agent.shape.daily_limit,
            tokens,
            calls,
            plans,
          })
          .meta({ id: 'UsageOfAgent', description: 'AI tokens that an agent used.' }),
      )
      .meta({ description: 'Agents by id. Archived agents are listed if they were active in the period.' }),
    pipelines: z
      .array(
        z
          .object({
            id: integerId.meta({ description: 'Id of the pipeline.' }),
            name: z.string().meta({ description: "The pipeline's current name, or its last known name." }),
            tokens_today: tokensToday,
            daily_budget: z.int().nullable().meta({
              description:
                'Maximum AI tokens per day for plans about its deals, from `pipeline_budgets`; null: no budget.',
            }),
            tokens,
          })
          .meta({ id: 'UsageOfPipeline', description: 'AI tokens used for deals of a pipeline.' }),
      )
      .meta({ description: 'Pipelines of agents, and pipelines that tokens were used for, ordered by id.' }),
    models: z
      .array(
        z
          .object({
            provider: z.string().meta({ description: '`openai_compatible`, or `simulated` in a sandbox.' }),
            model: z.string().meta({
              description: 'Name of the model. From the 101st model of a day on, it is `other models`.',
            }),
            tokens,
            calls,
            estimated_cost_usd: cost,
          })
          .meta({ id: 'UsageOfModel', description: 'AI tokens that a model used.' }),
      )
      .meta({ description: 'Models that were called, most tokens first.' }),
    uses: z
      .array(
        z
          .object({
            agent: z.string().meta({ description: "The agent's name." }),
            kind: z.string().meta({ description: 'What the tokens were for: `planning`.' }),
            label: z.string().meta({ description: '`kind` as a label to show.' }),
            tokens,
            calls,
          })
          .meta({ id: 'UsageOfPurpose', description: 'AI tokens that an agent used for one purpose.' }),
      )
      .meta({ description: 'Tokens by agent and purpose, most tokens first.' }),
    account: z
      .object({ tokens_today: tokensToday, daily_budget: AgentSettings.shape.daily_budget })
      .meta({ description: 'Tokens of all agents today, and their shared budget.' }),
  })
  .meta({ id: 'AgentUsage', description: 'AI tokens that agents used, by day, agent, pipeline, model and purpose.' });
export type AgentUsage = z.infer<typeof AgentUsage>;
