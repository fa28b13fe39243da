import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { lockOrder } from './orders.sql.ts';

export const fulfilOrder = implement(contract.fulfilOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  handle: (call) => changeStatus(call, 'fulfilled', (change) => call.emit(contract.orderFulfilled, change)),
});
