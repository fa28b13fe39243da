import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/webhooks';
import { refusePrivateTarget } from '@customer-platform/outbound';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { changeEndpoint } from './change-endpoint.ts';
import { toEndpoint } from './endpoint.ts';
import { type EndpointValues, findEndpoint } from './endpoints.sql.ts';

/**
 * Disabling an endpoint ends its pending deliveries as failed, `endpoint_disabled`; the dispatcher does so in batches.
 * Pausing keeps them pending. The endpoint's `paused` survives disabling; its queue is paused only while the endpoint is active too.
 */
export const updateEndpoint = implement(contract.updateEndpoint, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle(call) {
    const { account, body, found, tx, now } = call;
    const { url, description, events, active, paused } = found;
    const before: EndpointValues = { url, description, events, active, paused };
    const values = applyPatch(before, body);
    if (isDeepStrictEqual(before, values)) return toEndpoint(found, account);
    if (values.url !== url)
      refusePrivateTarget(values.url, 'url', { guard: call.resources.guard, prefetch: call.prefetch });
    return toEndpoint(await changeEndpoint(tx, account.id, { found, values }, now), account);
  },
  committed: (resources) => resources.dispatcher.wake(),
});
