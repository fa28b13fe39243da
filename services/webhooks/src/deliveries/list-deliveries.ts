import * as contract from '@customer-platform/contracts/webhooks';
import { readPage, uuidCursor } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findCursor, selectDeliveries } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const listDeliveries = implement(contract.listDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  handle({ account, found, query, tx, resources }) {
    const key = { accountId: account.id, endpointId: found.id };
    const oldest = oldestShown(resources.clocks.real(), resources.retention);
    return readPage(query, {
      position: (cursor) => findCursor(tx, key, uuidCursor(cursor), oldest),
      rows: (after, limit) => selectDeliveries(tx, key, { ...query, oldest }, { after, limit }),
      bytes: (row) => row.bytes,
      item: (row) => toDelivery(row, account),
      cursor: 'id',
    });
  },
});
