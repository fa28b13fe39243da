import type { AgentSettings } from '@customer-platform/contracts/agents';
import type { SettingsRow } from './settings.sql.ts';

/** Returns settings as the API shows them. They say whether a key is set but do not include the key. */
export function toSettings(row: SettingsRow): AgentSettings {
  const { provider, base_url, api_key, model, daily_budget, pipeline_budgets, prices } = row;
  return { provider, base_url, api_key_set: api_key !== null, model, daily_budget, pipeline_budgets, prices };
}
