import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { findProduct, updateProductRow } from './products.sql.ts';
import { skuTakenMessage } from './sku-taken.ts';

export const updateProduct = implement(contract.updateProduct, {
  find: ({ account, tx, params }) => findProduct(tx, account.id, params.product_id, 'lock'),
  async handle({ account, tx, body, found, fail }) {
    const after: contract.Product = {
      id: found.id,
      sku: body.sku ?? found.sku,
      name: body.name ?? found.name,
      price_minor: body.price_minor ?? found.price_minor,
      currency: body.currency ?? found.currency,
      active: body.active ?? found.active,
    };
    if (isDeepStrictEqual({ ...found }, after)) return found;
    if (!(await updateProductRow(tx, account.id, after))) {
      return fail('invalid_request', skuTakenMessage, 'sku');
    }
    return after;
  },
});
