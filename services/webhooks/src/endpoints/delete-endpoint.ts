import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { deleteFreeQueue, endPending, noteEndpointChanged } from '../sending/dispatch.sql.ts';
import { deleteEndpointRow, findEndpoint } from './endpoints.sql.ts';

/** Maximum number of pending deliveries that the request ends; the dispatcher ends the rest. */
const endedAtOnce = 1000;

export const deleteEndpoint = implement(contract.deleteEndpoint, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle({ account, found, tx, now }) {
    const key = { accountId: account.id, endpointId: found.id };
    await deleteEndpointRow(tx, account.id, found.id);
    await noteEndpointChanged(tx, { ...key, isPaused: false }, now);
    await endPending(tx, key, 'endpoint_deleted', endedAtOnce);
    await deleteFreeQueue(tx, key);
    return undefined;
  },
  committed: (resources) => resources.dispatcher.wake(),
});
