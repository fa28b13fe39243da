import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { lockOrder } from './orders.sql.ts';

export const confirmOrder = implement(contract.confirmOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  handle: (call) => changeStatus(call, 'confirmed', (change) => call.emit(contract.orderConfirmed, change)),
});
