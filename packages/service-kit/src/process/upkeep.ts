import type { Sql } from '../database/database.ts';
import type { PartitionedTable } from '../database/schema/partitions.ts';
import type { Job } from '../jobs/jobs.ts';
import { retentionMs as responsesRetentionMs } from '../operations/idempotency.ts';
import { republishSome } from '../outbox/outbox.sql.ts';
import { maxMoved, resumeFailedEvents } from '../queues/queues.sql.ts';
import { dayMs } from '../values/zoned-time.ts';

/** Retention of published events, which may be sent again. */
export const publishedRetentionMs = 7 * dayMs;
const deadRetentionMs = 30 * dayMs;

/** Inbox rows outlive any redelivery. An event is kept a week as published, a week on the bus, and 30 days if dead. */
export const inboxByDay: PartitionedTable = { table: 'inbox', days: 1, ahead: 14, keptMs: 45 * dayMs };

/** Rows that are deleted some time after the time in a column, with which an index begins. */
const kept = [
  { name: 'idempotency', due: 'created_at', afterMs: responsesRetentionMs },
  { name: 'published', due: 'published_at', afterMs: publishedRetentionMs },
  { name: 'failed_events', due: 'dead_at', afterMs: deadRetentionMs },
];
/** Maximum number of rows of a table that a round deletes. */
const maxDeleted = 1_000;

/** Deletes keyed responses after 24 hours, published events after 7 days, dead events after 30. */
export const forgetOldRecords: Job<unknown> = {
  name: 'forget-old-records',
  watched: kept,
  everyMs: 60_000,
  async run({ tx, now }) {
    let hasMore = false;
    for (const rows of kept) hasMore = (await forgetOldest(tx, rows, now)) === maxDeleted || hasMore;
    return hasMore;
  },
};

async function forgetOldest(tx: Sql, { name, due, afterMs }: (typeof kept)[number], now: Date): Promise<number> {
  const forgotten = await tx`
    delete from ${tx(name)} where ctid = any(array(
      select ctid from ${tx(name)} where ${tx(due)} <= ${new Date(now.getTime() - afterMs)}
      order by ${tx(due)} limit ${maxDeleted}))`;
  return forgotten.count;
}

/** Maximum number of events that may wait for the bus while older ones are sent again. */
const maxWaiting = 1_000;

/** Sends events that operators requested to the bus again, some in each round. */
export const republishEvents: Job<unknown> = {
  name: 'republish-events',
  watched: [{ name: 'republications', due: null }],
  everyMs: 1_000,
  async run({ tx, now }) {
    const oldest = new Date(now.getTime() - publishedRetentionMs);
    return await republishSome(tx, maxWaiting, oldest);
  },
};

/** Resumes events that were set aside for a pause at the moment it ended. */
export const resumeSetAside: Job<unknown> = {
  name: 'resume-set-aside',
  everyMs: 60_000,
  run: async ({ tx, now }) => (await resumeFailedEvents(tx, now)) === maxMoved,
};
