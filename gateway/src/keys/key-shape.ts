import type { Key } from '@customer-platform/contracts/accounts';
import { formatInstant } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { KeyRow } from './keys.sql.ts';

/** Returns the end of a key: its expiry, or its retirement by a rotation if that is sooner; null for never. */
export function endOf({ expires_at, retires_at }: Pick<KeyRow, 'expires_at' | 'retires_at'>): Date | null {
  if (!expires_at || !retires_at) return expires_at ?? retires_at;
  return expires_at < retires_at ? expires_at : retires_at;
}

/** Returns a key as the control plane shows it; times in its account's zone. */
export function toKey(row: KeyRow, timezone: string): z.output<typeof Key> {
  const shown = (at: Date | null) => (at ? formatInstant(at, timezone) : null);
  return {
    id: row.id,
    name: row.name,
    mode: row.mode,
    scopes: row.scopes,
    allowed_addresses: row.allowed_addresses,
    rate_limit: row.per_minute === null ? null : { per_minute: row.per_minute, burst: row.burst! },
    last4: row.last4,
    created_at: formatInstant(row.created_at, timezone),
    last_used_at: shown(row.last_used_at),
    expires_at: shown(endOf(row)),
    revoked_at: shown(row.revoked_at),
  };
}
