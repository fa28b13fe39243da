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

/** Inbox rows are kept for as long as an event may come again: dead ones are kept for 30 days, after the week that the bus had them and that before it. */
export const inboxByDay: PartitionedTable = { table: 'inbox', days: 1, ahead: 14, keptMs: 45 * dayMs };

/** Rows that are kept for a time after that of a column, which an index begins with. */
const kept = [
  { name: 'idempotency', due: 'created_at', afterMs: responsesRetentionMs },
  { name: 'published', due: 'published_at', afterMs: publishedRetentionMs },
  { name: 'failed_events', due: 'dead_at', afterMs: deadRetentionMs },
];
/** Most rows of a table that a round deletes. */
const mostForgotten = 1_000;

/** Deletes keyed responses after 24 hours, published events after 7 days, dead events after 30. */
export const forgetOldRecords: Job<unknown> = {
  name: 'forget-old-records',
  watched: kept,
  everyMs: 60_000,
  async run({ tx, now }) {
    let hasMore = false;
    for (const rows of kept) hasMore = (await forgetOldest(tx, rows, now)) === mostForgotten || hasMore;
    return hasMore;
  },
};

async function forgetOldest(tx: Sql, { name, due, afterMs }: (typeof kept)[number], now: Date): Promise<number> {
  const forgotten = await tx`
    delete from ${tx(name)} where ctid = any(array(
      select ctid from ${tx(name)} where ${tx(due)} <= ${new Date(now.getTime() - afterMs)}
      order by ${tx(due)} limit ${mostForgotten}))`;
  return forgotten.count;
}

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
