import { type Envelope, uuid } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { badCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { findEvent, selectEvents } from './events.sql.ts';
import { oldestKept } from './retention.ts';

export const listEvents = implement(contract.listEvents, {
  async handle({ account, query, tx, now }) {
    const { limit, starting_after: after, type } = query;
    const oldest = oldestKept(now);
    if (after !== undefined && !(uuid.safeParse(after).success && (await findEvent(tx, account.id, after, oldest)))) {
      throw badCursor();
    }
    const rows = await selectEvents(tx, account.id, { type, after, oldest }, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => JSON.parse(row.envelope) as Envelope<Record<string, unknown>>,
      (row) => row.id,
    );
  },
});
