import type { Job } from '@customer-platform/service-kit';
import { deleteNextRows, takeDeletedContact } from './deleted-contacts.sql.ts';

const batchSize = 5_000;

/**
 * Deletes the events, consents and pairs that deleted contacts have left, one part of one contact per round. By the real clock: nobody sees or waits for
 * them.
 */
export const emptyDeletedContacts: Job<unknown> = {
  name: 'empty-deleted-contacts',
  watched: [{ name: 'deleted_contacts', due: null }],
  // The pause before rows that others have locked are tried again.
  everyMs: 1_000,
  async run({ tx }) {
    const deleted = await takeDeletedContact(tx);
    if (!deleted) return false;
    return await deleteNextRows(tx, deleted, batchSize);
  },
};
