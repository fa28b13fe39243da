import type { Audience } from '@customer-platform/contracts/cdp';
import { formatInstant } from '@customer-platform/service-kit';
import type { AudienceRow } from './audiences.sql.ts';

/** Returns an audience as the API shows it, its times in the account's zone. */
export function toAudience(row: AudienceRow, timezone: string): Audience {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    status: row.status,
    error: row.error,
    members: row.members,
    refreshed_at: row.refreshed_at && formatInstant(row.refreshed_at, timezone),
    created_at: formatInstant(row.created_at, timezone),
    updated_at: formatInstant(row.updated_at, timezone),
    rules: row.rules,
  };
}
