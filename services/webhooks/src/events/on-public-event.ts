import type { Consumer } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestIdKept } from '../retention/retention.ts';
import { nextWaitMs } from '../sending/retry-schedule.ts';
import type { MadeDelivery } from '../sending/take-made.ts';
import { takeEvents } from './events.sql.ts';

/** Takes every public event of every service, in sets and in their order, by which they are numbered; internal ones never come here. */
export const onPublicEvent: Consumer<WebhookResources, readonly MadeDelivery[]> = {
  name: 'public-events',
  filter: { audience: 'public' },
  batchSize: 500,
  inOrder: true,
  // An event's own row, which is kept as long as it is taken at all, is the mark of having taken it.
  knowsTaken: true,
  async take({ tx, now, resources }, events) {
    // Requeued after weeks, where events are kept for less: its row might be dropped at once.
    const oldest = oldestIdKept(resources.retention.keptMs);
    const old = events.find(({ id }) => id.toLowerCase() < oldest);
    if (old) throw new Error(`event ${old.id} is older than EVENT_RETENTION_DAYS and a week: it is not delivered`);
    const waitMs = nextWaitMs(resources.schedule, 0, Math.random(), undefined) ?? 0;
    return await takeEvents(tx, events, new Date(now.getTime() + waitMs), now);
  },
  committed({ dispatcher, schedule, deliveriesDue, feed }, events, taken) {
    // What is due at once and belongs to queues that this process holds is sent from memory; the rest is looked for, by all processes.
    if (schedule[0] !== 0 || !dispatcher.takeMade(taken ?? [], events)) deliveriesDue();
    feed.recorded(new Set(events.map(({ account }) => account)));
  },
};
