import type { Audience } from '@customer-platform/contracts/cdp';
import { changedValues, formatInstant } from '@customer-platform/service-kit';
import type { AudienceRow, Computed } from './audiences.sql.ts';

/** Returns an audience as the API shows it, with times in the account's zone. */
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

/** Returns the values that a computation replaced, for `previous` of its event. */
export function replacedBy(audience: Audience, before: Computed, timezone: string): Partial<Audience> | undefined {
  const { status, error, members, refreshed_at } = before;
  const shown = { status, error, members, refreshed_at: refreshed_at && formatInstant(refreshed_at, timezone) };
  return changedValues<Partial<Audience>>(shown, audience);
}
