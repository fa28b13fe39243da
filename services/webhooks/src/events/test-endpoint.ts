import * as contract from '@customer-platform/contracts/webhooks';
import { outboxRow, writeOutbox } from '@customer-platform/service-kit';
import { insertDelivery } from '../deliveries/deliveries.sql.ts';
import { toDelivery } from '../deliveries/delivery.ts';
import { toEndpoint } from '../endpoints/endpoint.ts';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { makeDue } from '../sending/dispatch.sql.ts';
import { insertEvent } from './events.sql.ts';

/**
 * Writes the event and its only delivery, so that no other endpoint gets the event and the response can show the
 * delivery. When the event arrives over the bus, it is already known.
 */
export const testEndpoint = implement(contract.testEndpoint, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle({ account, found, tx, now }) {
    const event = outboxRow(contract.webhookTest, account, { webhook: toEndpoint(found, account) }, now);
    await writeOutbox(tx, [event]);
    await insertEvent(tx, event, 1, now);
    const row = await insertDelivery(tx, found, event, now);
    if (found.active) await makeDue(tx, [{ accountId: account.id, endpointId: found.id }], now);
    return toDelivery(row, account);
  },
  committed({ eventsCommitted, dispatcher, feed }, account) {
    eventsCommitted();
    dispatcher.wake();
    feed.recorded(new Set([account.id]));
  },
});
