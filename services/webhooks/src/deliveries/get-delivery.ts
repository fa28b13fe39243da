import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findDelivery } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const getDelivery = implement(contract.getDelivery, {
  find: ({ account, params, tx, resources }) => {
    const key = { accountId: account.id, endpointId: params.endpoint_id };
    return findDelivery(tx, key, params.delivery_id, oldestShown(resources.clocks.real(), resources.retention));
  },
  handle: async ({ account, found }) => toDelivery(found, account),
});
