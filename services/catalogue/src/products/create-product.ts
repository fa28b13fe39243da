import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { insertProduct } from './products.sql.ts';
import { skuTakenMessage } from './sku-taken.ts';

export const createProduct = implement(contract.createProduct, {
  async handle({ account, tx, body, fail }) {
    const product = await insertProduct(tx, account.id, { ...body, currency: body.currency ?? account.currency });
    return product ?? fail('invalid_request', skuTakenMessage, 'sku');
  },
});
