import type { Envelope } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../implement.ts';
import { findEvent } from './events.sql.ts';
import { oldestKept } from './retention.ts';

export const getEvent = implement(contract.getEvent, {
  find: ({ account, params, tx, now }) => findEvent(tx, account.id, params.event_id, oldestKept(now)),
  handle: async ({ found }) => JSON.parse(found.envelope) as Envelope<Record<string, unknown>>,
});
