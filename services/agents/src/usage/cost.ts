import type { AgentSettings } from '@customer-platform/contracts/agents';

/** Tokens of one model of one provider. */
export interface ModelTokens {
  provider: string;
  model: string;
  prompt_tokens: number;
  completion_tokens: number;
}

/** Returns the cost of tokens in USD, to six decimals; null if the model has no price. No tokens and simulated ones cost 0. */
export function costOf(used: ModelTokens, prices: AgentSettings['prices']): number | null {
  const { provider, model, prompt_tokens, completion_tokens } = used;
  if (provider === 'simulated' || prompt_tokens + completion_tokens === 0) return 0;
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  return price ? rounded((prompt_tokens * price.prompt + completion_tokens * price.completion) / 1_000_000) : null;
}

/** Returns the sum of costs, to six decimals; null if one of them is unknown. */
export function sumOfCosts(costs: readonly (number | null)[]): number | null {
  return costs.includes(null) ? null : rounded(costs.reduce<number>((sum, cost) => sum + cost!, 0));
}

function rounded(usd: number): number {
  return Math.round(usd * 1_000_000) / 1_000_000;
}
