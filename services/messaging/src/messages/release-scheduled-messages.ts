import type { Job } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { releaseScheduled } from './messages.sql.ts';

const batchSize = 500;

/** Releases messages whose `send_at` has come. */
export const releaseScheduledMessages: Job<MessagingResources> = {
  name: 'release-scheduled-messages',
  everyMs: 500,
  async run({ tx, now, resources }) {
    const released = await releaseScheduled(tx, now, batchSize);
    if (released > 0) resources.sending.wake();
    return released === batchSize;
  },
};
