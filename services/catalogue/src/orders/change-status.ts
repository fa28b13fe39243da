import type { OrderStatus } from '@customer-platform/contracts/catalogue';
import type { Sql } from '@customer-platform/service-kit';
import { type OrderRow, toOrder } from './order.ts';
import { updateOrderStatus } from './orders.sql.ts';

/** Updates the status of a locked order. Returns its event's data: the order after the update, and its former status. */
export async function changeStatus(
  tx: Sql,
  account: { id: string; timezone: string },
  found: OrderRow,
  status: OrderStatus,
  now: Date,
) {
  await updateOrderStatus(tx, account.id, found.id, status, now);
  const order = toOrder({ ...found, status, updated_at: now }, account.timezone);
  return { order, previous: { status: found.status } };
}
