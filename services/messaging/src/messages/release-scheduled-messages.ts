import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { releaseScheduled, scheduledMessages } from './messages.sql.ts';

const finder = new RowFinder(scheduledMessages);
const room = batchOf(500);

/** Releases messages whose `send_at` has come, and shares its turns among accounts. */
export const releaseScheduledMessages: Job<MessagingResources> = {
  name: 'release-scheduled-messages',
  due: scheduledMessages,
  everyMs: 500,
  async run({ tx, now, resources }, scope) {
    const { rows, hasMore } = await finder.take({ sql: tx, now, scope, room }, async (due) => ({
      rows: await releaseScheduled(tx, due),
    }));
    if (rows.length > 0) resources.sending.wake();
    return hasMore;
  },
};
