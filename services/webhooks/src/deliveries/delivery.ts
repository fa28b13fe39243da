import type { AccountContext, Envelope } from '@customer-platform/contracts/core';
import type { Delivery } from '@customer-platform/contracts/webhooks';
import { formatInstant } from '@customer-platform/service-kit';
import type { DeliveryRow } from './deliveries.sql.ts';

/** Converts a row to a delivery of the API. */
export function toDelivery(row: DeliveryRow, account: Pick<AccountContext, 'timezone'>): Delivery {
  const { id, event, event_id, status, reason, url, response_status, response_body, response_duration_ms } = row;
  const shown = (instant: Date) => formatInstant(instant, account.timezone);
  return {
    id,
    event,
    event_id,
    status,
    reason,
    url,
    payload: JSON.parse(row.envelope) as Envelope<Record<string, unknown>>,
    response:
      response_status === null
        ? null
        : { status: response_status, body: response_body ?? '', duration_ms: response_duration_ms ?? 0 },
    tries: row.tries.map(({ is_manual, at, ...made }) => ({
      ...made,
      at: shown(new Date(at)),
      trigger: is_manual ? 'manual' : 'scheduled',
    })),
    next_try_at: row.next_try_at && shown(row.next_try_at),
    created_at: shown(row.created_at),
  };
}
