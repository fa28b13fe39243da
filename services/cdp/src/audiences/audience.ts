import type { Audience } from '@customer-platform/contracts/cdp';
import { formatInstant } from '@customer-platform/service-kit';
import type { AudienceRow } from './audiences.sql.ts';

/** Returns an audience as the API shows it, its times in the account's zone. */
export function toAudience(row: AudienceRow, timezone: string): Audience {
  const { id, name, description, status, error, members, rules } = row;
  return {
    id,
    name,
    description,
    status,
    error,
    members,
    refreshed_at: row.refreshed_at && formatInstant(row.refreshed_at, timezone),
    created_at: formatInstant(row.created_at, timezone),
    updated_at: formatInstant(row.updated_at, timezone),
    rules,
  };
}
