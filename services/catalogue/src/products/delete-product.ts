import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { deleteProductRow, findProduct } from './products.sql.ts';

/** Orders keep their lines, which hold a copy of what they need. */
export const deleteProduct = implement(contract.deleteProduct, {
  find: ({ account, tx, params }) => findProduct(tx, account.id, params.product_id, 'lock'),
  async handle({ account, tx, found }) {
    await deleteProductRow(tx, account.id, found.id);
    return undefined;
  },
});
