import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { AgentSummary } from './agents.ts';

const tokens = z.int();
const cost = z.number().nullable().meta({ description: "In USD; null if a model's price is not in the settings." });

const ranges = [7, 14, 30];
export const usageDays = z
  .int()
  .refine((days) => ranges.includes(days), { error: 'must be 7, 14 or 30' })
  .meta({ enum: ranges });

export const AgentUsage = z
  .object({
    range_days: z.int(),
    totals: z.object({
      tokens,
      prompt_tokens: tokens,
      completion_tokens: tokens,
      calls: z.int(),
      plans: z.int(),
      estimated_cost_usd: cost,
    }),
    days: z
      .array(z.object({ date: z.string(), by_agent: z.record(z.string(), tokens) }).meta({ id: 'DailyUsage' }))
      .meta({
        description: "One entry per day in the account's timezone, oldest first; by_agent has the tokens by agent id.",
      }),
    agents: z.array(
      z
        .object({
          agent: AgentSummary,
          model: z.string(),
          tokens_today: tokens,
          daily_limit: z.int().nullable(),
          tokens,
          calls: z.int(),
          plans: z.int(),
        })
        .meta({ id: 'UsageOfAgent' }),
    ),
    pipelines: z.array(
      z
        .object({ id: integerId, name: z.string(), tokens_today: tokens, daily_budget: z.int().nullable(), tokens })
        .meta({ id: 'UsageOfPipeline' }),
    ),
    models: z.array(
      z
        .object({ provider: z.string(), model: z.string(), tokens, calls: z.int(), estimated_cost_usd: cost })
        .meta({ id: 'UsageOfModel' }),
    ),
    uses: z
      .array(
        z
          .object({ agent: z.string(), kind: z.string(), label: z.string(), tokens, calls: z.int() })
          .meta({ id: 'UsageOfPurpose' }),
      )
      .meta({ description: 'Purposes of the tokens, largest first.' }),
    account: z.object({ tokens_today: tokens, daily_budget: z.int().nullable() }),
  })
  .meta({ id: 'AgentUsage' });
export type AgentUsage = z.infer<typeof AgentUsage>;
