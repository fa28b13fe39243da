import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { deleteProductRow, findProduct } from './products.sql.ts';

/** Deletes a product. Lines of existing orders stay, since they have a copy of its values. */
export const deleteProduct = implement(contract.deleteProduct, {
  find: ({ account, tx, params }) => findProduct(tx, account.id, params.product_id, 'lock'),
  async handle({ account, tx, found }) {
    await deleteProductRow(tx, account.id, found.id);
    return undefined;
  },
});
