import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { selectOrder } from './orders.sql.ts';

export const getOrder = implement(contract.getOrder, {
  find: ({ account, tx, params }) => selectOrder(tx, account.id, params.order_id),
  handle: async ({ account, found }) => toOrder(found, account.timezone),
});
