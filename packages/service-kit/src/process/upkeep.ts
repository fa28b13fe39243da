import type { PartitionedTable } from '../database/schema/partitions.ts';
import type { Job } from '../jobs/jobs.ts';
import { retentionMs as responsesRetentionMs } from '../operations/idempotency.ts';
import { republishSome } from '../outbox/outbox.sql.ts';
import { maxMoved, resumeFailedEvents } from '../queues/queues.sql.ts';
import { dayMs } from '../values/zoned-time.ts';
import { forgetOldest } from './forget.sql.ts';

/** Retention of published events, which may be sent again. */
export const publishedRetentionMs = 7 * dayMs;
const deadRetentionMs = 30 * dayMs;

/** Inbox rows are kept for as long as an event may come again: dead ones are kept for 30 days, after the week that the bus had them and that before it. */
export const inboxByDay: PartitionedTable = { table: 'inbox', days: 1, ahead: 14, keptMs: 45 * dayMs };

const responses = { table: 'idempotency', at: 'created_at', bytes: 'answer' };
const published = { table: 'published', at: 'published_at', bytes: 'envelope' };
const deadEvents = { table: 'failed_events', at: 'dead_at', bytes: 'bytes' };

/** Deletes keyed responses after 24 hours, published events after 7 days, dead events after 30. */
export const forgetOldRecords: Job<unknown> = {
  name: 'forget-old-records',
  watched: [
    { name: 'idempotency', due: 'created_at', afterMs: responsesRetentionMs },
    { name: 'published', due: 'published_at', afterMs: publishedRetentionMs },
    { name: 'failed_events', due: 'dead_at', afterMs: deadRetentionMs },
  ],
  everyMs: 60_000,
  async run({ tx, now }) {
    const before = (ms: number) => new Date(now.getTime() - ms);
    const hasMore = [
      await forgetOldest(tx, responses, before(responsesRetentionMs)),
      await forgetOldest(tx, published, before(publishedRetentionMs)),
      await forgetOldest(tx, deadEvents, before(deadRetentionMs)),
    ];
    return hasMore.includes(true);
  },
};

/** Events that may wait for the bus while older ones are sent again. */
const mostWaiting = 1_000;

/** Sends what operators ask for to the bus again, a part a round. */
export const sendAgain: Job<unknown> = {
  name: 'republish-events',
  watched: [{ name: 'republications', due: null }],
  everyMs: 1_000,
  async run({ tx, now }) {
    const oldest = new Date(now.getTime() - publishedRetentionMs);
    return await republishSome(tx, mostWaiting, oldest);
  },
};

/** Goes on with events that were set aside for a pause just when it ended. */
export const resumeSetAside: Job<unknown> = {
  name: 'resume-set-aside',
  everyMs: 60_000,
  run: async ({ tx, now }) => (await resumeFailedEvents(tx, now)) === maxMoved,
};
