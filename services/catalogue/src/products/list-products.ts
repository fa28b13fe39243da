import * as contract from '@customer-platform/contracts/catalogue';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { findProduct, listProductRows } from './products.sql.ts';

export const listProducts = implement(contract.listProducts, {
  handle: ({ account, tx, query }) =>
    readPage(query, {
      position: uuidPosition((id) => findProduct(tx, account.id, id)),
      rows: (last, limit) => listProductRows(tx, account.id, last, limit),
      item: (row) => row,
      cursor: 'id',
    }),
});
