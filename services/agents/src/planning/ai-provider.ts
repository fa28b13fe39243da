import type { AccountContext } from '@customer-platform/contracts/core';
import type { AgentRow } from '../agents/agents.sql.ts';
import { apiKeyOf } from '../settings/api-key.ts';
import { selectSettings } from '../settings/settings.sql.ts';
import type { AiProvider } from './ask-ai.ts';
import type { PlanningTools } from './planning-tools.ts';
import { simulatedModel } from './simulated-ai.ts';

/** Returns the AI provider of an agent, or a sentence naming the missing setting. */
export async function aiProviderOf(
  account: AccountContext,
  agent: AgentRow,
  { sql, secretKeys, poster, config }: PlanningTools,
): Promise<AiProvider | { missing: string }> {
  if (account.mode === 'test') return { name: 'simulated', model: simulatedModel };
  const settings = await selectSettings(sql, account.id);
  const model = agent.model || settings.model;
  const missing = settings.base_url === '' ? 'base_url' : model === '' ? 'model' : undefined;
  if (missing) return { missing: `No AI provider is set up: set its ${missing} with PATCH /v1/agents/settings` };
  const apiKey = apiKeyOf(secretKeys, settings);
  const timeoutMs = config.AGENTS_AI_TIMEOUT_MS;
  const endpoint = { baseUrl: settings.base_url, apiKey, poolKey: account.id, poster, timeoutMs };
  return { name: settings.provider, model, endpoint };
}
