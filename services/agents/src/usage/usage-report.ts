import type { AgentUsage } from '@customer-platform/contracts/agents';
import type { AgentRow } from '../agents/agents.sql.ts';
import type { SettingsRow } from '../settings/settings.sql.ts';
import type { UsageRow } from './usage.sql.ts';

/** Data of a report. */
export interface UsageFacts {
  /** The dates of the range, oldest first; the last is today. */
  days: readonly string[];
  usage: readonly UsageRow[];
  /** Number of plans that each agent made. */
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
  const ofAgent = Map.groupBy(usage, ({ agent_id }) => agent_id);
  const ofPipeline = Map.groupBy(usage, ({ pipeline_id }) => pipeline_id);
  const isToday = ({ day }: UsageRow) => day === days.at(-1);
  const models = usedModels(usage, settings);
  return {
    range_days: days.length,
    totals: {
      ...sumsOf(usage),
      plans: [...plans.values()].reduce((sum, count) => sum + count, 0),
      estimated_cost_usd: sumOfCosts(models.map((model) => model.estimated_cost_usd)),
    },
    days: daysOf(days, usage),
    agents: agents.map((agent) => {
      const own = ofAgent.get(agent.id) ?? [];
      const { tokens, calls } = sumsOf(own);
      return {
        agent: { id: agent.id, name: agent.name, role: agent.role },
        model: agent.used_model,
        tokens_today: tokensOf(own.filter(isToday)),
        daily_limit: agent.daily_limit,
        tokens,
        calls,
        plans: plans.get(agent.id) ?? 0,
      };
    }),
    pipelines: pipelines.map(({ id, name }) => {
      const own = ofPipeline.get(id) ?? [];
      const daily_budget = settings.pipeline_budgets[id] ?? null;
      return { id, name, tokens_today: tokensOf(own.filter(isToday)), daily_budget, tokens: tokensOf(own) };
    }),
    models,
    uses: usesOf(usage, agents),
    account: { tokens_today: tokensOf(usage.filter(isToday)), daily_budget: settings.daily_budget },
  };
}

function daysOf(days: readonly string[], usage: readonly UsageRow[]): AgentUsage['days'] {
  const byDay = Map.groupBy(usage, ({ day }) => day);
  return days.map((date) => {
    const byAgent = [...Map.groupBy(byDay.get(date) ?? [], ({ agent_id }) => agent_id)];
    const entries = byAgent.map(([id, rows]) => [id, tokensOf(rows)] as const).filter(([, tokens]) => tokens > 0);
    return { date, by_agent: Object.fromEntries(entries) };
  });
}

function usedModels(usage: readonly UsageRow[], settings: SettingsRow): AgentUsage['models'] {
  const models = [...Map.groupBy(usage, ({ provider, model }) => JSON.stringify([provider, model])).values()];
  const used = models.map((rows) => {
    const { provider, model } = rows[0]!;
    const { tokens, calls, ...parts } = sumsOf(rows);
    const estimated_cost_usd = costOf({ provider, model, ...parts }, settings);
    return { provider, model, tokens, calls, estimated_cost_usd };
  });
  return used.sort((one, other) => other.tokens - one.tokens || inOrder(one.model, other.model));
}

type ModelTokens = Pick<UsageRow, 'provider' | 'model' | 'prompt_tokens' | 'completion_tokens'>;

/** Returns the cost of tokens in USD, to six decimals; null if the model has no price. No tokens and simulated ones cost 0. */
function costOf(used: ModelTokens, { prices }: SettingsRow): number | null {
  const { provider, model, prompt_tokens, completion_tokens } = used;
  if (provider === 'simulated' || prompt_tokens + completion_tokens === 0) return 0;
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  return price ? rounded((prompt_tokens * price.prompt + completion_tokens * price.completion) / 1_000_000) : null;
}

/** Returns the sum of costs, to six decimals; null if one of them is unknown. */
function sumOfCosts(costs: readonly (number | null)[]): number | null {
  return costs.includes(null) ? null : rounded(costs.reduce<number>((sum, cost) => sum + cost!, 0));
}

function rounded(usd: number): number {
  return Math.round(usd * 1_000_000) / 1_000_000;
}

function usesOf(usage: readonly UsageRow[], agents: readonly AgentRow[]): AgentUsage['uses'] {
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  const uses = [...Map.groupBy(usage, ({ agent_id, kind }) => `${agent_id} ${kind}`).values()].map((rows) => {
    const { agent_id, kind } = rows[0]!;
    const { tokens, calls } = sumsOf(rows);
    return { agent: names.get(agent_id) ?? '', kind, label: labels[kind] ?? kind, tokens, calls };
  });
  return uses.sort((one, other) => other.tokens - one.tokens || inOrder(one.agent, other.agent));
}

function sumsOf(usage: readonly UsageRow[]) {
  const sums = { tokens: 0, prompt_tokens: 0, completion_tokens: 0, calls: 0 };
  for (const row of usage) {
    sums.tokens += row.tokens;
    sums.prompt_tokens += row.prompt_tokens;
    sums.completion_tokens += row.completion_tokens;
    sums.calls += row.calls;
  }
  return sums;
}

function tokensOf(usage: readonly UsageRow[]): number {
  return sumsOf(usage).tokens;
}

function inOrder(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
