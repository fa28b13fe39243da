import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { findDelivery } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const getDelivery = implement(contract.getDelivery, {
  find: ({ account, params, tx }) => findDelivery(tx, account.id, params.endpoint_id, params.delivery_id),
  handle: async ({ account, found }) => toDelivery(found, account),
});
