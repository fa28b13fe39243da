import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { findDelivery } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const getDelivery = implement(contract.getDelivery, {
  async find({ account, params, tx }) {
    const endpoint = await findEndpoint(tx, account.id, params.endpoint_id);
    return endpoint && (await findDelivery(tx, account.id, endpoint.id, params.delivery_id));
  },
  handle: async ({ account, found }) => toDelivery(found, account),
});
