import * as contract from '@customer-platform/contracts/webhooks';
import { firstShown, lastSequence } from '../events/events.sql.ts';
import { sequenceOf } from '../events/recorded-event.ts';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';

/** Streams the events after the reader's last one, within the retention. A new reader gets only events from now on. */
export const streamEvents = implement(contract.streamEvents, {
  async handle({ account, query, headers, tx, resources }) {
    const last = headers['Last-Event-ID'] ?? query.after_sequence;
    const after =
      last === undefined
        ? await lastSequence(tx, account.id)
        : await firstShown(tx, account.id, sequenceOf(last), oldestShown(resources.clocks.real(), resources.retention));
    const types = [...new Set(query.types ?? ['*'])].toSorted();
    return resources.streamAfter(after, { account, types });
  },
});
