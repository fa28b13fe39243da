import type { Consumer } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestIdKept } from '../retention/retention.ts';
import type { CreatedDelivery } from '../sending/accept-created.ts';
import { nextWaitMs } from '../sending/retry-schedule.ts';
import { takeEvents } from './events.sql.ts';

/** Records all public events in batches, numbered in stream order. Internal events are not in the filter. */
export const onPublicEvent: Consumer<WebhookResources, readonly CreatedDelivery[]> = {
  name: 'public-events',
  filter: { audience: 'public' },
  batchSize: 500,
  inOrder: true,
  // The event's row marks the event as taken. The row is kept for as long as the consumer accepts the event.
  deduplicates: true,
  async take({ tx, now, resources }, events) {
    // An event requeued after weeks may be older than the retention. Its row could be dropped at once.
    const oldest = oldestIdKept(resources.retention.keptMs);
    const old = events.find(({ id }) => id.toLowerCase() < oldest);
    if (old) throw new Error(`event ${old.id} is older than EVENT_RETENTION_DAYS plus a week and is not delivered`);
    const waitMs = nextWaitMs(resources.schedule, 0, Math.random(), undefined) ?? 0;
    return await takeEvents(tx, events, new Date(now.getTime() + waitMs), now);
  },
  committed({ dispatcher, schedule, deliveriesDue, feed }, events, taken) {
    // Sends deliveries from memory if they are due at once and this process holds their queues. All processes look for the rest.
    if (schedule[0] !== 0 || !dispatcher.acceptCreated(taken ?? [], events)) deliveriesDue();
    feed.recorded(new Set(events.map(({ account }) => account)));
  },
};
