import * as contract from '@customer-platform/contracts/webhooks';
import { fewBytes, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toEndpoint } from './endpoint.ts';
import { findEndpoint, selectEndpoints } from './endpoints.sql.ts';

export const listEndpoints = implement(contract.listEndpoints, {
  handle: ({ account, query, tx }) =>
    readPage(query, {
      position: uuidPosition((id) => findEndpoint(tx, account.id, id)),
      rows: (after, limit) => selectEndpoints(tx, account.id, after, limit),
      bytes: fewBytes,
      item: (row) => toEndpoint(row, account),
      cursor: 'id',
    }),
});
