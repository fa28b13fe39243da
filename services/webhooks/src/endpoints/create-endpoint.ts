import * as contract from '@customer-platform/contracts/webhooks';
import { encryptSecret, newSigningSecret, refusePrivateTarget } from '@customer-platform/outbound';
import { serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toEndpoint } from './endpoint.ts';
import { insertEndpoint, prepareEndpoint } from './endpoints.sql.ts';

const maxEndpoints = 20;
/** Queues of deleted endpoints count until their pending deliveries have ended. Otherwise repeated creating and deleting would pile them up. */
const maxQueues = 2 * maxEndpoints;

export const createEndpoint = implement(contract.createEndpoint, {
  async handle(call) {
    const { account, body, tx, now, fail, resources } = call;
    refusePrivateTarget(body.url, 'url', { guard: call.resources.guard, prefetch: call.prefetch });
    const { count, queues, id } = await prepareEndpoint(tx, account.id);
    if (count >= maxEndpoints) {
      fail('invalid_state', `An account has at most ${maxEndpoints} endpoints; delete one first`);
    }
    if (queues >= maxQueues)
      throw serviceUnavailable('Too many deleted endpoints still have pending deliveries; try again shortly');
    const secret = newSigningSecret();
    const stored = encryptSecret(resources.secretKeys, secret, account.id, id);
    const row = await insertEndpoint(tx, account.id, { ...body, id, secret: stored }, now);
    return { ...toEndpoint(row, account), secret };
  },
});
