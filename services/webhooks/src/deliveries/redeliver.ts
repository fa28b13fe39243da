import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { makeDue } from '../sending/dispatch.sql.ts';
import { findDelivery, restartDelivery } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const redeliver = implement(contract.redeliver, {
  async find({ account, params, tx }) {
    const endpoint = await findEndpoint(tx, account.id, params.endpoint_id, 'lock');
    const delivery = endpoint && (await findDelivery(tx, account.id, endpoint.id, params.delivery_id));
    return delivery && { endpoint, delivery };
  },
  async handle({ account, found: { endpoint, delivery }, tx, now, fail }) {
    if (!endpoint.active) fail('invalid_state', 'The endpoint is switched off; switch it on first');
    await makeDue(tx, [{ accountId: account.id, endpointId: endpoint.id }], now);
    await restartDelivery(tx, account.id, delivery.id, now);
    const restarted = await findDelivery(tx, account.id, endpoint.id, delivery.id);
    return toDelivery(restarted!, account);
  },
  committed: (resources) => resources.dispatcher.wake(),
});
