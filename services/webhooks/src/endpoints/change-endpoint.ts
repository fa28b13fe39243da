import type { Sql } from '@customer-platform/service-kit';
import { noteEndpointChanged } from '../sending/dispatch.sql.ts';
import { type EndpointRow, type EndpointValues, updateEndpointRow } from './endpoints.sql.ts';

/**
 * Updates a locked endpoint. The process that holds its queue reads it again if its URL, active or paused state changed.
 * The caller wakes the dispatcher after the commit.
 */
export async function changeEndpoint(
  tx: Sql,
  accountId: string,
  { found, values }: { found: EndpointRow; values: EndpointValues },
  now: Date,
): Promise<EndpointRow> {
  const row = await updateEndpointRow(tx, accountId, { ...values, id: found.id }, now);
  if (row.url !== found.url || row.active !== found.active || row.paused !== found.paused) {
    const isPaused = row.active && row.paused;
    await noteEndpointChanged(tx, { accountId, endpointId: found.id, isPaused }, now);
  }
  return row;
}
