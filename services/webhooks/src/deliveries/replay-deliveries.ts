import * as contract from '@customer-platform/contracts/webhooks';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { countMatched, countRunning, insertReplay } from './replays.sql.ts';

/** Replays of one endpoint that run at once. */
const maxRunning = 10;

/** Locks no endpoint: outcomes of tries are written to its row, and counting a long period takes its time. */
export const replayDeliveries = implement(contract.replayDeliveries, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id),
  async handle({ account, body, found, tx, now, resources, fail }) {
    const { since, until = now, status } = body;
    if (since >= now) fail('invalid_request', 'since must be in the past', 'since');
    if (until <= since) fail('invalid_request', 'until must be later than since', 'until');
    if (!found.active) fail('invalid_state', 'The endpoint is switched off; switch it on first');
    // What is made from now on is no part of it, or it would never end.
    const ended = until < now ? until : now;
    const isOf = { account_id: account.id, endpoint_id: found.id };
    const period = { ...isOf, since, until: ended, includes_delivered: status === 'all' };
    const matched = await countMatched(tx, period, oldestShown(resources.clocks.real(), resources.retention));
    if (matched > 0 && (await countRunning(tx, { accountId: account.id, endpointId: found.id })) >= maxRunning) {
      fail('invalid_state', `${maxRunning} replays of the endpoint are running; wait until one has completed`);
    }
    const { id } = await insertReplay(tx, { ...period, matched }, resources.clocks.real());
    return { id, matched };
  },
});
