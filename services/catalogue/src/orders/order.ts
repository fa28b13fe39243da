import type { Order, OrderLine, OrderStatus } from '@customer-platform/contracts/catalogue';
import { formatInstant } from '@customer-platform/service-kit';

/** An order with its lines and its contact (the surviving contact if merged). */
export interface OrderRow extends Omit<Order, 'contact' | 'created_at' | 'updated_at'> {
  contact_id: string;
  contact_name: string;
  contact_phone: string;
  items: OrderLine[];
  created_at: Date;
  updated_at: Date;
}

/** Returns an order as responses show it, with its times in the account's time zone. */
export function toOrder(row: OrderRow, timezone: string): Order {
  const { id, number, status, source, channel, items, total_minor, currency, note } = row;
  return {
    id,
    number,
    status,
    source,
    channel,
    contact: { id: row.contact_id, name: row.contact_name, phone: row.contact_phone },
    items,
    total_minor,
    currency,
    note,
    created_at: formatInstant(row.created_at, timezone),
    updated_at: formatInstant(row.updated_at, timezone),
  };
}

/** Allowed transitions by current status, without the status itself. */
const possible: Record<OrderStatus, readonly OrderStatus[]> = {
  new: ['confirmed', 'declined', 'cancelled'],
  confirmed: ['declined', 'fulfilled', 'cancelled'],
  declined: [],
  fulfilled: [],
  cancelled: [],
};

/** Returns a sentence saying why this transition is not allowed and which ones are; undefined if it is allowed. */
export function refusalOf(from: OrderStatus, to: OrderStatus): string | undefined {
  if (possible[from].includes(to)) return undefined;
  if (possible[from].length === 0) return `The order is ${from}, which is final; it can no longer be ${to}`;
  const others = possible[from];
  return `The order is ${from}; it can be ${others.slice(0, -1).join(', ')} or ${others.at(-1)}, but not ${to}`;
}
