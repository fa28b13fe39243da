import { contactConsumer } from '@customer-platform/contact-copy';
import { baseConfig, runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { cancelOrder } from './orders/cancel-order.ts';
import { confirmOrder } from './orders/confirm-order.ts';
import { createOrder } from './orders/create-order.ts';
import { declineOrder } from './orders/decline-order.ts';
import { fulfilOrder } from './orders/fulfil-order.ts';
import { getOrder } from './orders/get-order.ts';
import { listOrders } from './orders/list-orders.ts';
import { createProduct } from './products/create-product.ts';
import { deleteProduct } from './products/delete-product.ts';
import { getProduct } from './products/get-product.ts';
import { listProducts } from './products/list-products.ts';
import { updateProduct } from './products/update-product.ts';
import { type CatalogueResources, makeResources } from './resources.ts';

/** Catalogue: what an account sells, and who ordered what of it. */
export const catalogue: ServiceDefinition<typeof baseConfig, CatalogueResources> = {
  name: 'catalogue',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [
    ...[listProducts, createProduct, getProduct, updateProduct, deleteProduct],
    ...[listOrders, createOrder, getOrder],
    ...[confirmOrder, declineOrder, fulfilOrder, cancelOrder],
  ],
  consumers: [contactConsumer],
  resources: makeResources,
};

if (import.meta.main) await runProcess(() => startService(catalogue, process.env));
