import * as contract from '@customer-platform/contracts/catalogue';
import { fewBytes, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { findProduct, listProductRows } from './products.sql.ts';

export const listProducts = implement(contract.listProducts, {
  handle: ({ account, tx, query }) =>
    readPage(query, {
      position: uuidPosition((id) => findProduct(tx, account.id, id)),
      rows: (after, limit) => listProductRows(tx, account.id, query.sku, { after, limit }),
      bytes: fewBytes,
      item: (row) => row,
      cursor: 'id',
    }),
});
