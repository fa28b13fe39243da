import * as contract from '@customer-platform/contracts/webhooks';
import { readPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findEvent, firstShown, type SizedEventRow, selectEvents } from './events.sql.ts';
import { sequenceOf, toEvent } from './recorded-event.ts';

const shown = { bytes: (row: SizedEventRow) => row.bytes, item: toEvent };

/** Lists newest first, or in ascending order after `after_sequence`. */
export const listEvents = implement(contract.listEvents, {
  async handle({ account, query, tx, resources, fail }) {
    const { type, limit, starting_after, after_sequence } = query;
    const oldest = oldestShown(resources.clocks.real(), resources.retention);
    if (after_sequence === undefined) {
      return await readPage(query, {
        ...shown,
        position: async (cursor) => (await findEvent(tx, account.id, uuidCursor(cursor), oldest))?.sequence,
        rows: (before, most) => selectEvents(tx, account.id, { type, before, oldest }, most),
        cursor: 'id',
      });
    }
    if (starting_after !== undefined) {
      const message = 'after_sequence and starting_after cannot be combined, because they list in different orders';
      fail('invalid_request', message, 'after_sequence');
    }
    const after = await firstShown(tx, account.id, sequenceOf(after_sequence), oldest);
    return await readPage(
      { limit },
      {
        ...shown,
        position: async () => undefined,
        rows: (_none, most) => selectEvents(tx, account.id, { type, after, oldest }, most),
        cursor: 'sequence',
      },
    );
  },
});
