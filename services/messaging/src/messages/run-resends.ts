import { activeTrace, batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { insertMessages } from './messages.sql.ts';
import { deleteResend, markMatched, runningResends, takeResend } from './resends.sql.ts';

const finder = new RowFinder(runningResends);
const room = batchOf(1);
const batch = 200;

/** Resends the failed messages of requests, one batch of one request per round, rotating among accounts. */
export const runResends: Job<MessagingResources> = {
  name: 'run-resends',
  due: runningResends,
  everyMs: 500,
  async run({ tx, now, resources }, scope) {
    const found = await finder.take({ sql: tx, now, scope, room }, async (due) => ({
      rows: await takeResend(tx, due),
    }));
    const [resend] = found.rows;
    if (!resend) return found.hasMore;
    const messages = await markMatched(tx, resend, batch, now);
    const fresh = { send_at: null, needs_channels: false, key: null, trace: activeTrace() };
    if (messages.length > 0)
      await insertMessages(
        tx,
        messages.map((message) => ({ ...message, ...fresh })),
        now,
      );
    // A message locked at this moment needs no wait: it fails after the period, or another request resends it.
    else await deleteResend(tx, resend);
    resources.sending.wake();
    return true;
  },
};
