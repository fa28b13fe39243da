import { decryptSecret, encryptSecret, type SecretKeys } from '@customer-platform/outbound';
import type { SettingsRow } from './settings.sql.ts';

/** What the key's encryption is bound to, besides its account. */
const row = 'settings';

/** The key of the account's AI provider; null where there is none. Not for logs, answers or errors. */
export function apiKeyOf(secretKeys: SecretKeys, settings: Pick<SettingsRow, 'account_id' | 'api_key'>): string | null {
  return settings.api_key && decryptSecret(secretKeys, settings.api_key, settings.account_id, row);
}

/** The key as it is stored; null where `apiKey` is empty. */
export function sealedApiKey(secretKeys: SecretKeys, accountId: string, apiKey: string): Buffer | null {
  return apiKey === '' ? null : encryptSecret(secretKeys, apiKey, accountId, row);
}
