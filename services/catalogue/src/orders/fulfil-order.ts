import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { changeStatus } from './change-status.ts';
import { refusalOf, toOrder } from './order.ts';
import { lockOrder } from './orders.sql.ts';

export const fulfilOrder = implement(contract.fulfilOrder, {
  find: ({ account, tx, params }) => lockOrder(tx, account.id, params.order_id),
  async handle({ account, tx, found, now, emit, fail }) {
    if (found.status === 'fulfilled') return toOrder(found, account.timezone);
    const refusal = refusalOf(found.status, 'fulfilled');
    if (refusal) return fail('invalid_state', refusal);
    const change = await changeStatus(tx, account, found, 'fulfilled', now);
    emit(contract.orderFulfilled, change);
    return change.order;
  },
});
