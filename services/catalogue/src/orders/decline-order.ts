import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { lockOrder } from './orders.sql.ts';
import { insertPendingMessage } from './pending-messages.sql.ts';

/** Declines an order and queues the reason in one transaction. So the reason reaches the customer even if messaging is unavailable. */
export const declineOrder = implement(contract.declineOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  handle: (call) =>
    changeStatus(call, 'declined', async (change) => {
      const { account, tx, body, found, now } = call;
      if (body.reason !== '') {
        await insertPendingMessage(tx, account.id, { orderId: found.id, body: body.reason }, now);
      }
      call.emit(contract.orderDeclined, change);
    }),
  committed: ({ handover }) => handover.wake(),
});
