import * as contract from '@customer-platform/contracts/catalogue';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { findProduct, listProductRows } from './products.sql.ts';

export const listProducts = implement(contract.listProducts, {
  async handle({ account, tx, query }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? undefined : uuidCursor(cursor);
    if (last !== undefined && !(await findProduct(tx, account.id, last))) throw badCursor();
    const rows = await listProductRows(tx, account.id, last, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => row,
      (row) => row.id,
    );
  },
});
