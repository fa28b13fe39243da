import * as contract from '@customer-platform/contracts/webhooks';
import { readFiltered, readPage, uuidCursor } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findCursor, selectDeliveries } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const listDeliveries = implement(contract.listDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  handle(call) {
    const { account, found, query, resources } = call;
    const key = { accountId: account.id, endpointId: found.id };
    const oldest = oldestShown(resources.clocks.real(), resources.retention);
    const indexed = [query.status, query.event];
    return readFiltered(call, 'the search of deliveries', { indexed }, (sql) =>
      readPage(query, {
        position: (cursor) => findCursor(sql, key, uuidCursor(cursor), oldest),
        rows: (after, limit) => selectDeliveries(sql, key, { ...query, oldest }, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toDelivery(row, account),
        cursor: 'id',
      }),
    );
  },
});
