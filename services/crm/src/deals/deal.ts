import type { Deal } from '@customer-platform/contracts/crm';
import { formatInstant } from '@customer-platform/service-kit';
import type { DealRow } from './deals.sql.ts';

/** Returns a deal as responses show it, with its times in the account's time zone. */
export function toDeal(row: DealRow, timezone: string): Deal {
  const { id, title, status, value_minor, currency, contact_id, contact_name, contact_phone, notes } = row;
  return {
    id,
    title,
    pipeline: { id: row.pipeline_id, name: row.pipeline_name },
    stage: { id: row.stage_id, name: row.stage_name },
    status,
    value_minor,
    currency,
    contact: contact_id === null ? null : { id: contact_id, name: contact_name!, phone: contact_phone! },
    notes,
    stage_entered_at: formatInstant(row.stage_entered_at, timezone),
    closed_at: row.closed_at && formatInstant(row.closed_at, timezone),
    created_at: formatInstant(row.created_at, timezone),
    updated_at: formatInstant(row.updated_at, timezone),
  };
}
