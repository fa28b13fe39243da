import { lenaSummary } from '../cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type { Order, Product } from './resources.ts';

const shampoo: Product = {
  id: '019a9c80-7d15-7e62-9b3a-6e7f8091a2b0',
  sku: 'shampoo-250',
  name: 'Argan shampoo, 250 ml',
  price_minor: 1890,
  currency: 'EUR',
  active: true,
};
const repriced: Product = { ...shampoo, price_minor: 1990 };

/** Lena's order of two bottles. */
export const order: Order = {
  id: '019a9c82-58aa-7031-8d6e-7f8091a2b3c0',
  number: 118,
  status: 'new',
  source: 'api',
  channel: 'whatsapp',
  contact: lenaSummary,
  items: [
    { product: shampoo.id, sku: shampoo.sku, name: shampoo.name, quantity: 2, unit_price_minor: shampoo.price_minor },
  ],
  total_minor: 3780,
  currency: 'EUR',
  note: 'Picked up at the next visit.',
  created_at: '2025-11-17T19:40:05+01:00',
  updated_at: '2025-11-17T19:40:05+01:00',
};
const next = (status: Order['status']): Order => ({ ...order, status, updated_at: '2025-11-18T09:02:17+01:00' });

export const catalogueExamples: ExamplesOf<typeof operations> = {
  listProducts: { response: onePage(shampoo) },
  createProduct: {
    body: { sku: shampoo.sku, name: shampoo.name, price_minor: 1890, currency: 'EUR' },
    response: shampoo,
  },
  getProduct: { response: shampoo },
  updateProduct: { body: { price_minor: 1990 }, response: repriced },
  listOrders: { response: onePage(order) },
  createOrder: {
    body: {
      contact: lenaSummary.id,
      items: [{ sku: shampoo.sku, quantity: 2, name: shampoo.name, unit_price_minor: shampoo.price_minor }],
      note: order.note,
    },
    response: order,
  },
  getOrder: { response: order },
  confirmOrder: { response: next('confirmed') },
  declineOrder: { body: { reason: 'The shampoo is sold out until December.' }, response: next('declined') },
  fulfilOrder: { response: next('fulfilled') },
  cancelOrder: { response: next('cancelled') },
};

export const catalogueEventExamples: EventExamplesOf<typeof events> = {
  orderCreated: { order },
  orderConfirmed: { order: next('confirmed'), previous: { status: 'new' } },
  orderDeclined: { order: next('declined'), previous: { status: 'new' } },
  orderFulfilled: { order: next('fulfilled'), previous: { status: 'confirmed' } },
  orderCancelled: { order: next('cancelled'), previous: { status: 'confirmed' } },
};
