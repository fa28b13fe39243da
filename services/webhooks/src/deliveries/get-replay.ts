import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { findReplay } from './replays.sql.ts';

export const getReplay = implement(contract.getReplay, {
  async find({ account, params, tx }) {
    const endpoint = await findEndpoint(tx, account.id, params.endpoint_id);
    return endpoint && (await findReplay(tx, account.id, endpoint.id, params.replay_id));
  },
  handle: async ({ found: { id, status, matched, done } }) => ({ id, status, matched, done }),
});
