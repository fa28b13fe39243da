import type { AgentUsage } from '@customer-platform/contracts/agents';
import type { AgentRow } from '../agents/agents.sql.ts';
import type { SettingsRow } from '../settings/settings.sql.ts';
import type { Usage, UsedTokens } from './usage.sql.ts';

/** Data of a report. */
export interface UsageFacts {
  /** The dates of the period, oldest first. The last date is today. */
  days: readonly string[];
  usage: Usage;
  /** Number of plans that each agent made, by agent id. */
  plans: ReadonlyMap<number, number>;
  /** Agents that the report lists. */
  agents: readonly AgentRow[];
  /** Pipelines that the report lists. */
  pipelines: readonly { id: number; name: string }[];
  settings: SettingsRow;
}

/** Labels of the kinds of calls. */
const labels: Readonly<Record<string, string>> = { planning: 'Planning' };

/** Returns the report as the API shows it. */
export function usageReport({ days, usage, plans, agents, pipelines, settings }: UsageFacts): AgentUsage {
  const ofAgent = Map.groupBy(usage.purposes, ({ agent_id }) => agent_id);
  const ofPipeline = new Map(usage.pipelines.map((used) => [used.pipeline_id, used]));
  const models = usedModels(usage.models, settings);
  const { tokens_today, ...totals } = sumsOf(usage.models);
  return {
    range_days: days.length,
    totals: {
      ...totals,
      plans: [...plans.values()].reduce((sum, count) => sum + count, 0),
      estimated_cost_usd: sumOfCosts(models.map((model) => model.estimated_cost_usd)),
    },
    days: daysOf(days, usage.days),
    agents: agents.map((agent) => {
      const { tokens, calls, tokens_today } = sumsOf(ofAgent.get(agent.id) ?? []);
      return {
        agent: { id: agent.id, name: agent.name, role: agent.role },
        model: agent.used_model,
        tokens_today,
        daily_limit: agent.daily_limit,
        tokens,
        calls,
        plans: plans.get(agent.id) ?? 0,
      };
    }),
    pipelines: pipelines.map(({ id, name }) => {
      const { tokens = 0, tokens_today = 0 } = ofPipeline.get(id) ?? {};
      return { id, name, tokens_today, daily_budget: settings.pipeline_budgets[id] ?? null, tokens };
    }),
    models,
    uses: usesOf(usage.purposes, agents),
    account: { tokens_today, daily_budget: settings.daily_budget },
  };
}

function daysOf(days: readonly string[], used: Usage['days']): AgentUsage['days'] {
  const byDay = Map.groupBy(used, ({ day }) => day);
  return days.map((date) => {
    const entries = (byDay.get(date) ?? []).filter(({ tokens }) => tokens > 0);
    return { date, by_agent: Object.fromEntries(entries.map(({ agent_id, tokens }) => [agent_id, tokens])) };
  });
}

function usedModels(models: Usage['models'], settings: SettingsRow): AgentUsage['models'] {
  const used = models.map(({ provider, model, tokens, calls, ...parts }) => {
    return { provider, model, tokens, calls, estimated_cost_usd: costOf({ provider, model, ...parts }, settings) };
  });
  return used.sort((one, other) => other.tokens - one.tokens || inOrder(one.model, other.model));
}

type ModelTokens = Pick<Usage['models'][number], 'provider' | 'model' | 'prompt_tokens' | 'completion_tokens'>;

/** Returns the cost of tokens in USD, to six decimals; null if the model has no price. Zero tokens and simulated tokens cost 0. */
function costOf(used: ModelTokens, { prices }: SettingsRow): number | null {
  const { provider, model, prompt_tokens, completion_tokens } = used;
  if (provider === 'simulated' || prompt_tokens + completion_tokens === 0) return 0;
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  return price ? rounded((prompt_tokens * price.prompt + completion_tokens * price.completion) / 1_000_000) : null;
}

/** Returns the sum of costs in USD, to six decimals; null if a cost is unknown. */
function sumOfCosts(costs: readonly (number | null)[]): number | null {
  return costs.includes(null) ? null : rounded(costs.reduce<number>((sum, cost) => sum + cost!, 0));
}

function rounded(usd: number): number {
  return Math.round(usd * 1_000_000) / 1_000_000;
}

function usesOf(purposes: Usage['purposes'], agents: readonly AgentRow[]): AgentUsage['uses'] {
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  const uses = purposes.map(({ agent_id, kind, tokens, calls }) => {
    return { agent: names.get(agent_id) ?? '', kind, label: labels[kind] ?? kind, tokens, calls };
  });
  return uses.sort((one, other) => other.tokens - one.tokens || inOrder(one.agent, other.agent));
}

function sumsOf(used: readonly UsedTokens[]): UsedTokens {
  const sums = { tokens: 0, prompt_tokens: 0, completion_tokens: 0, calls: 0, tokens_today: 0 };
  for (const row of used) {
    sums.tokens += row.tokens;
    sums.prompt_tokens += row.prompt_tokens;
    sums.completion_tokens += row.completion_tokens;
    sums.calls += row.calls;
    sums.tokens_today += row.tokens_today;
  }
  return sums;
}

function inOrder(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
