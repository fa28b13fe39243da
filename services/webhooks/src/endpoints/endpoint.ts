import type { AccountContext } from '@customer-platform/contracts/core';
import type { Endpoint } from '@customer-platform/contracts/webhooks';
import { formatInstant } from '@customer-platform/service-kit';
import type { EndpointRow } from './endpoints.sql.ts';

/** Converts a row to an endpoint of the API. */
export function toEndpoint(row: EndpointRow, account: Pick<AccountContext, 'timezone'>): Endpoint {
  const { id, url, description, events, active, disabled_reason, paused } = row;
  const created_at = formatInstant(row.created_at, account.timezone);
  const updated_at = formatInstant(row.updated_at, account.timezone);
  return { id, url, description, events, active, disabled_reason, paused, created_at, updated_at };
}
