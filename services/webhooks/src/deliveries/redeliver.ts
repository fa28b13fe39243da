import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { makeDue } from '../sending/dispatch.sql.ts';
import { findDelivery, restartDelivery } from './deliveries.sql.ts';
import { toDelivery } from './delivery.ts';

export const redeliver = implement(contract.redeliver, {
  async find({ account, params, tx, resources }) {
    const endpoint = await findEndpoint(tx, account.id, params.endpoint_id, 'lock');
    if (!endpoint) return undefined;
    const key = { accountId: account.id, endpointId: endpoint.id };
    const oldest = oldestShown(resources.clocks.real(), resources.retention);
    const delivery = await findDelivery(tx, key, params.delivery_id, oldest);
    return delivery && { endpoint, delivery, key, oldest };
  },
  async handle({ account, found: { endpoint, delivery, key, oldest }, tx, now, fail }) {
    if (!endpoint.active) fail('invalid_state', 'The endpoint is disabled; set active to true first');
    await makeDue(tx, [key], now);
    await restartDelivery(tx, account.id, delivery.id, now);
    const restarted = await findDelivery(tx, key, delivery.id, oldest);
    return toDelivery(restarted!, account);
  },
  committed: (resources) => resources.dispatcher.wake(),
});
