import { fetchContact } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/catalogue';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { linesOf, totalOf } from './order-lines.ts';
import { insertOrder, selectOrderBasis } from './orders.sql.ts';

export const createOrder = implement(contract.createOrder, {
  async handle({ account, tx, body, now, emit, fail, prefetch }) {
    const skus = [...new Set(body.items.map(({ sku }) => sku))];
    const { contact, products } = await selectOrderBasis(tx, account.id, body.contact, skus);
    if (!contact) prefetch(fetchContact(body.contact), 'contact');
    if (!contact || contact.deleted) {
      return fail('invalid_request', 'contact must be the id of a contact of this account', 'contact');
    }
    const currency = body.currency ?? account.currency;
    const items = linesOf(body.items, products, currency);
    const values = {
      status: 'new' as const,
      source: 'api' as const,
      channel: body.channel ?? (contact.phone === '' ? ('email' as const) : ('whatsapp' as const)),
      contact_id: contact.id,
      contact_name: contact.name,
      contact_phone: contact.phone,
      items,
      total_minor: totalOf(items),
      currency,
      note: body.note,
      created_at: now,
    };
    // Must be last, since the account's other new orders wait for the row lock on its order number.
    const made = await insertOrder(tx, account.id, values);
    const order = toOrder({ ...values, ...made }, account.timezone);
    emit(contract.orderCreated, { order });
    return order;
  },
});
