import { decryptSecret, encryptSecret, type SecretKeys } from '@customer-platform/outbound';
import type { SettingsRow } from './settings.sql.ts';

/** Additional data to which the key's encryption is bound, besides its account. */
const row = 'settings';

/** Returns the decrypted key of the account's AI provider; null if none is set. Never put it in logs, responses or errors. */
export function apiKeyOf(secretKeys: SecretKeys, settings: Pick<SettingsRow, 'account_id' | 'api_key'>): string | null {
  return settings.api_key && decryptSecret(secretKeys, settings.api_key, settings.account_id, row);
}

/** Returns the key encrypted for storage; null if `apiKey` is empty. */
export function sealedApiKey(secretKeys: SecretKeys, accountId: string, apiKey: string): Buffer | null {
  return apiKey === '' ? null : encryptSecret(secretKeys, apiKey, accountId, row);
}
