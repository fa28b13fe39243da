import type { Job } from '@customer-platform/service-kit';
import { deleteOldReplays } from '../deliveries/replays.sql.ts';
import type { WebhookResources } from '../implement.ts';
import { deleteOldEvents } from './events.sql.ts';
import { oldestKept } from './retention.ts';

const batch = 500;
/** Tries that are deleted at once: far below what a statement has time for. */
const triesAtOnce = 20_000;

/** Deletes events of more than 30 days with all that was made of them, and replays of that age, in bounded sets. */
export const forgetOldEvents: Job<WebhookResources> = {
  name: 'forget-old-events',
  everyMs: 60_000,
  async run({ tx, now }) {
    const oldest = oldestKept(now);
    const hasMoreEvents = await deleteOldEvents(tx, oldest, { events: batch, tries: triesAtOnce });
    const replays = await deleteOldReplays(tx, oldest, batch);
    return hasMoreEvents || replays === batch;
  },
};
