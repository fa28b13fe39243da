import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { lockOrder } from './orders.sql.ts';

export const cancelOrder = implement(contract.cancelOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  handle: (call) => changeStatus(call, 'cancelled', (change) => call.emit(contract.orderCancelled, change)),
});
