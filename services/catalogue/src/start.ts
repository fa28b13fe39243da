import { contactConsumer, restoredContactConsumer, unmergedContactConsumer } from '@customer-platform/contact-copy';
import type * as contract from '@customer-platform/contracts/catalogue';
import {
  type BaseConfig,
  baseConfig,
  type Foundation,
  type ServiceDefinition,
  WorkQueue,
} from '@customer-platform/service-kit';
import type { CatalogueResources } from './implement.ts';
import { cancelOrder } from './orders/cancel-order.ts';
import { confirmOrder } from './orders/confirm-order.ts';
import { createOrder } from './orders/create-order.ts';
import { declineOrder } from './orders/decline-order.ts';
import { fulfilOrder } from './orders/fulfil-order.ts';
import { getOrder } from './orders/get-order.ts';
import { listOrders } from './orders/list-orders.ts';
import { messageHandover } from './orders/message-handover.ts';
import { createProduct } from './products/create-product.ts';
import { deleteProduct } from './products/delete-product.ts';
import { getProduct } from './products/get-product.ts';
import { listProducts } from './products/list-products.ts';
import { updateProduct } from './products/update-product.ts';

/** Catalogue: an account's products and orders. */
export const catalogue: ServiceDefinition<typeof contract, typeof baseConfig, CatalogueResources> = {
  name: 'catalogue',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    listProducts,
    createProduct,
    getProduct,
    updateProduct,
    deleteProduct,
    listOrders,
    createOrder,
    getOrder,
    confirmOrder,
    declineOrder,
    fulfilOrder,
    cancelOrder,
  },
  requests: {},
  consumers: [contactConsumer, restoredContactConsumer('orders'), unmergedContactConsumer],
  resources: makeResources,
};

/** Starts the handover of messages. `stop` waits for handovers in progress. */
async function makeResources(foundation: Foundation<BaseConfig>) {
  const handover = new WorkQueue(foundation, messageHandover(foundation));
  return { handover, stop: () => handover.stop() };
}
