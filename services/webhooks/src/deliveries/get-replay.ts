import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { findReplay } from './replays.sql.ts';

export const getReplay = implement(contract.getReplay, {
  find: ({ account, params, tx }) => findReplay(tx, account.id, params.endpoint_id, params.replay_id),
  handle: async ({ found: { id, status, matched, done } }) => ({ id, status, matched, done }),
});
