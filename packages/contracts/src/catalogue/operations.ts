import { z } from 'zod';
import { text, uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery, updatedSinceQuery } from '../core/page.ts';
import { orderCancelled, orderConfirmed, orderCreated, orderDeclined, orderFulfilled } from './events.ts';
import {
  Order,
  OrderInput,
  orderPath,
  orderSource,
  orderStatus,
  Product,
  ProductChange,
  ProductInput,
  productPath,
} from './resources.ts';

const operation = operationsOf('catalogue', 'catalogue');
const readProducts = 'catalogue.products:read';
const writeProducts = 'catalogue.products:write';
const readOrders = 'catalogue.orders:read';
const writeOrders = 'catalogue.orders:write';

export const listProducts = operation('listProducts', {
  method: 'GET',
  path: '/v1/catalogue/products',
  scope: readProducts,
  summary: 'List products',
  description: 'Returns products, newest first, including inactive ones.',
  query: z.object({
    sku: z.string().optional().meta({ description: 'Only the product with this SKU.' }),
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Product),
  errors: [],
});

export const createProduct = operation('createProduct', {
  method: 'POST',
  path: '/v1/catalogue/products',
  scope: writeProducts,
  summary: 'Create a product',
  description: 'Creates a product. No other product may have its SKU. An inactive product cannot be ordered.',
  body: ProductInput,
  status: 201,
  response: Product,
  errors: [],
});

export const getProduct = operation('getProduct', {
  method: 'GET',
  path: '/v1/catalogue/products/{product_id}',
  scope: readProducts,
  summary: 'Retrieve a product',
  description: 'Returns the product, even if it is inactive.',
  params: productPath,
  status: 200,
  response: Product,
  errors: ['not_found'],
});

export const updateProduct = operation('updateProduct', {
  method: 'PATCH',
  path: '/v1/catalogue/products/{product_id}',
  scope: writeProducts,
  summary: 'Update a product',
  description: 'Changes the product. Existing orders keep their names and prices.',
  params: productPath,
  body: ProductChange,
  status: 200,
  response: Product,
  errors: ['not_found'],
});

export const deleteProduct = operation('deleteProduct', {
  method: 'DELETE',
  path: '/v1/catalogue/products/{product_id}',
  scope: writeProducts,
  summary: 'Delete a product',
  description: 'Deletes the product. Existing orders keep their lines.',
  params: productPath,
  status: 204,
  errors: ['not_found'],
});

export const listOrders = operation('listOrders', {
  method: 'GET',
  path: '/v1/catalogue/orders',
  scope: readOrders,
  summary: 'List orders',
  description: 'Returns orders with their lines, newest first. An order must match every filter given.',
  query: z.object({
    status: orderStatus.optional().meta({ description: 'Only orders with this status.' }),
    contact: uuid.optional().meta({
      description: 'Only orders of the contact with this id, or of contacts merged into it.',
    }),
    source: orderSource.optional().meta({ description: 'Only orders from this source.' }),
    ...updatedSinceQuery,
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Order),
  errors: [],
});

export const createOrder = operation('createOrder', {
  method: 'POST',
  path: '/v1/catalogue/orders',
  scope: writeOrders,
  summary: 'Create an order',
  description:
    'The total is the sum of the lines, which keep their own names and prices. An item without a product for its SKU needs a name and a price.',
  body: OrderInput,
  status: 201,
  response: Order,
  errors: [],
  emits: [orderCreated],
});

export const getOrder = operation('getOrder', {
  method: 'GET',
  path: '/v1/catalogue/orders/{order_id}',
  scope: readOrders,
  summary: 'Retrieve an order',
  description: 'Returns the order. Its lines keep the names and prices from when it was placed.',
  params: orderPath,
  status: 200,
  response: Order,
  errors: ['not_found'],
});

export const confirmOrder = operation('confirmOrder', {
  method: 'POST',
  path: '/v1/catalogue/orders/{order_id}/confirm',
  scope: writeOrders,
  summary: 'Confirm a new order',
  description: 'Confirms an order with the status `new`. A confirmed order stays as it is.',
  params: orderPath,
  body: z.object({}),
  status: 200,
  response: Order,
  errors: ['not_found', 'invalid_state'],
  emits: [orderConfirmed],
});

export const declineOrder = operation('declineOrder', {
  method: 'POST',
  path: '/v1/catalogue/orders/{order_id}/decline',
  scope: writeOrders,
  summary: 'Decline an order',
  description: "Declines a new or confirmed order. A reason is sent to the customer on the order's channel.",
  params: orderPath,
  body: z.object({
    reason: text(1_000).default('').meta({
      description: "Sent to the customer word for word, on the order's channel. Without it, nothing is sent.",
    }),
  }),
  status: 200,
  response: Order,
  errors: ['not_found', 'invalid_state'],
  emits: [orderDeclined],
});

export const fulfilOrder = operation('fulfilOrder', {
  method: 'POST',
  path: '/v1/catalogue/orders/{order_id}/fulfil',
  scope: writeOrders,
  summary: 'Fulfill a confirmed order',
  description: 'Fulfills an order with the status `confirmed`. A fulfilled order stays as it is.',
  params: orderPath,
  body: z.object({}),
  status: 200,
  response: Order,
  errors: ['not_found', 'invalid_state'],
  emits: [orderFulfilled],
});

export const cancelOrder = operation('cancelOrder', {
  method: 'POST',
  path: '/v1/catalogue/orders/{order_id}/cancel',
  scope: writeOrders,
  summary: 'Cancel an order',
  description: 'Cancels a new or confirmed order. A canceled order stays as it is.',
  params: orderPath,
  body: z.object({}),
  status: 200,
  response: Order,
  errors: ['not_found', 'invalid_state'],
  emits: [orderCancelled],
});
