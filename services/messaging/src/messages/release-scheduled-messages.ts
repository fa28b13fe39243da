import { type Job, RoundRobin } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { releaseScheduled, scheduledMessages } from './messages.sql.ts';

const batches = new RoundRobin(scheduledMessages, { limit: 500, locks: true });

/** Releases messages whose `send_at` has come, however many of one account before those of another. */
export const releaseScheduledMessages: Job<MessagingResources> = {
  name: 'release-scheduled-messages',
  due: scheduledMessages,
  everyMs: 500,
  async run({ tx, now, resources }, scope) {
    const mine = batches.of(scope);
    const { due } = await mine.next(tx, now, []);
    const released = await releaseScheduled(tx, due);
    if (released > 0) resources.sending.wake();
    return mine.took(released);
  },
};
