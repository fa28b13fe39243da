import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { beginReplay } from './begin-replay.ts';

export const replayDeliveries = implement(contract.replayDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  handle: async (call) => {
    const { since, until, status } = call.body;
    return await beginReplay(call, { ...call.found, accountId: call.account.id }, { since, until, status });
  },
});
