import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { insertReplay } from './replays.sql.ts';

export const replayDeliveries = implement(contract.replayDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle({ account, body, found, tx, now, fail }) {
    if (!found.active) fail('invalid_state', 'The endpoint is switched off; switch it on first');
    const { since, until = now, status } = body;
    if (since >= now) fail('invalid_request', 'since must be in the past', 'since');
    if (until <= since) fail('invalid_request', 'until must be later than since', 'until');
    // What is made from now on is no part of it, or it would never end.
    const period = { account_id: account.id, endpoint_id: found.id, since, until: until < now ? until : now };
    const { id, matched } = await insertReplay(tx, { ...period, includes_delivered: status === 'all' }, now);
    return { id, matched };
  },
});
