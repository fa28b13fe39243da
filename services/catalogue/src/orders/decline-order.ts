import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { refusalOf, toOrder } from './order.ts';
import { lockOrder } from './orders.sql.ts';
import { insertPendingMessage } from './pending-messages.sql.ts';

/** Declines an order and queues the reason in the same transaction: it reaches the customer even if messaging is unavailable now. */
export const declineOrder = implement(contract.declineOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    if (found.status === 'declined') return toOrder(found, account.timezone);
    const refusal = refusalOf(found.status, 'declined');
    if (refusal) return fail('invalid_state', refusal);
    const change = await changeStatus(tx, account, found, 'declined', now);
    if (body.reason !== '') await insertPendingMessage(tx, account.id, found.id, body.reason, now);
    emit(contract.orderDeclined, change);
    return change.order;
  },
  committed: ({ handover }) => handover.wake(),
});
