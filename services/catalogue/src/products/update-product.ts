import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/catalogue';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { findProduct, updateProductRow } from './products.sql.ts';
import { skuTakenMessage } from './sku-taken.ts';

export const updateProduct = implement(contract.updateProduct, {
  find: ({ account, tx, params }) => findProduct(tx, account.id, params.product_id, 'lock'),
  async handle({ account, tx, body, found, fail }) {
    const after = applyPatch(found, body);
    if (isDeepStrictEqual({ ...found }, after)) return found;
    if (!(await updateProductRow(tx, account.id, after))) {
      return fail('invalid_request', skuTakenMessage, 'sku');
    }
    return after;
  },
});
