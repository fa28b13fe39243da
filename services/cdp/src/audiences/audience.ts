import type { Audience, Condition, NestedRules, ShownItem } from '@customer-platform/contracts/cdp';
import { changedValues, formatInstant } from '@customer-platform/service-kit';
import type { AudienceRow, Computed } from './audiences.sql.ts';

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
    rules: { ...rules, conditions: rules.conditions.map(toShown) },
  };
}

/** Returns what a computation replaced, as `previous` of its event shows it. */
export function replacedBy(audience: Audience, before: Computed, timezone: string): Partial<Audience> | undefined {
  const { status, error, members, refreshed_at } = before;
  const shown = { status, error, members, refreshed_at: refreshed_at && formatInstant(refreshed_at, timezone) };
  return changedValues<Partial<Audience>>(shown, audience);
}

/** Returns a condition, or the nested ones, as the API shows it, with every field: rules are stored as they were written. */
export function toShown(item: Condition | NestedRules): ShownItem {
  if ('conditions' in item) return { ...item, conditions: item.conditions.map(ofField) };
  return ofField(item);
}

function ofField(condition: Condition) {
  return condition.type === 'field' ? { ...condition, value: condition.value ?? null } : condition;
}
