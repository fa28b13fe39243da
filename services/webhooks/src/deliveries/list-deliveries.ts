import * as contract from '@customer-platform/contracts/webhooks';
import { readPage, uuidCursor } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { findCursor, selectDeliveries } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const listDeliveries = implement(contract.listDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  handle: ({ account, found, query, tx }) =>
    readPage(query, {
      position: (cursor) => findCursor(tx, account.id, found.id, uuidCursor(cursor)),
      rows: (after, limit) => selectDeliveries(tx, account.id, found.id, query, after, limit),
      bytes: (row) => row.bytes,
      item: (row) => toDelivery(row, account),
      cursor: 'id',
    }),
});
