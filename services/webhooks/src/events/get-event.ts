import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findEvent } from './events.sql.ts';
import { toEvent } from './recorded-event.ts';

export const getEvent = implement(contract.getEvent, {
  find: ({ account, params, tx, resources }) =>
    findEvent(tx, account.id, params.event_id, oldestShown(resources.clocks.real(), resources.retention)),
  handle: async ({ found }) => toEvent(found),
});
