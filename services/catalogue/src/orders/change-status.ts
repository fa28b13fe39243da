import type { Order, OrderStatus } from '@customer-platform/contracts/catalogue';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { type OrderRow, refusalOf, toOrder } from './order.ts';
import { updateOrderStatus } from './orders.sql.ts';

type StatusCall = { account: AccountContext; tx: Sql; found: OrderRow; now: Date };

/**
 * Updates the status of a locked order and returns the order. If the status differs, calls `changed` with the event's data: the order
 * after the update, and its previous status. Throws invalid_state if the transition is not allowed.
 */
export async function changeStatus(
  { account, tx, found, now }: StatusCall,
  status: OrderStatus,
  changed: (change: { order: Order; previous: { status: OrderStatus } }) => unknown,
): Promise<Order> {
  if (found.status === status) return toOrder(found, account.timezone);
  const refusal = refusalOf(found.status, status);
  if (refusal) throw new ApiError('invalid_state', refusal);
  const updated_at = await updateOrderStatus(tx, account.id, found.id, status, now);
  const order = toOrder({ ...found, status, updated_at }, account.timezone);
  await changed({ order, previous: { status: found.status } });
  return order;
}
