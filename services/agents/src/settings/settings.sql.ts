import type { AgentSettings } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';

export interface SettingsRow extends Omit<AgentSettings, 'api_key_set'> {
  account_id: string;
  /** The encrypted key; null if none is set. */
  api_key: Buffer | null;
}

/** Defaults of an account that never changed its settings. */
const defaultSettings: Omit<SettingsRow, 'account_id'> = {
  provider: 'openai_compatible',
  base_url: '',
  api_key: null,
  model: '',
  daily_budget: null,
  pipeline_budgets: {},
  prices: {},
};

/** Returns the account's settings, or the defaults. */
export async function selectSettings(tx: Sql, accountId: string): Promise<SettingsRow> {
  const [row] = await tx<SettingsRow[]>`select * from settings where account_id = ${accountId}`;
  return row ?? { account_id: accountId, ...defaultSettings };
}

/**
 * Locks and returns the account's settings, and inserts the row if it is missing. Until the transaction ends, no other transaction changes
 * the settings or reserves tokens of the account.
 */
export async function lockSettings(tx: Sql, accountId: string): Promise<SettingsRow> {
  const made = tx`insert into settings (account_id) values (${accountId}) on conflict do nothing`.execute();
  const locked = tx<SettingsRow[]>`select * from settings where account_id = ${accountId} for update`.execute();
  const [, [row]] = await Promise.all([made, locked]);
  return row!;
}

/** Replaces the account's settings. The row must exist. */
export async function updateSettingsRow(tx: Sql, row: SettingsRow): Promise<void> {
  const { account_id, provider, base_url, api_key, model, daily_budget, pipeline_budgets, prices } = row;
  await tx`
    update settings set provider = ${provider}, base_url = ${base_url}, api_key = ${api_key}, model = ${model},
      daily_budget = ${daily_budget}, pipeline_budgets = ${tx.json(pipeline_budgets)}, prices = ${tx.json(prices)}
    where account_id = ${account_id}`;
}
