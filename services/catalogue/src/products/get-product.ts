import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { findProduct } from './products.sql.ts';

export const getProduct = implement(contract.getProduct, {
  find: ({ account, tx, params }) => findProduct(tx, account.id, params.product_id),
  handle: async ({ found }) => found,
});
