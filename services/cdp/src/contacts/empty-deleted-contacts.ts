import type { Job } from '@customer-platform/service-kit';
import { deleteNextRows, takeDeletedContact } from './deleted-contacts.sql.ts';

const batchSize = 5_000;

/**
 * Deletes remaining events, consents and pairs of deleted contacts, one batch of one contact per round. Uses the real clock, since the rows are not
 * visible to anyone.
 */
export const emptyDeletedContacts: Job<unknown> = {
  name: 'empty-deleted-contacts',
  watched: [{ name: 'deleted_contacts', due: null }],
  // Pause before rows that were locked are retried.
  everyMs: 1_000,
  async run({ tx }) {
    const deleted = await takeDeletedContact(tx);
    if (!deleted) return false;
    return await deleteNextRows(tx, deleted, batchSize);
  },
};
