import type { Job } from '@customer-platform/service-kit';
import { settleCallsBefore } from './ledger.sql.ts';

/** Age at which an open call counts as lost. It is longer than any call takes. */
const lostAfterMs = 15 * 60_000;
const batchSize = 100;

/** Settles calls whose process died before the response. Their usage is unknown, so the whole reservation counts. */
export const settleLostCalls: Job<unknown> = {
  name: 'settle-lost-calls',
  due: { name: 'ai_calls', due: 'began_at', where: (sql) => sql`outcome is null`, afterMs: lostAfterMs },
  everyMs: 30_000,
  async run({ tx, now }, scope) {
    const before = new Date(now.getTime() - lostAfterMs);
    return (await settleCallsBefore(tx, scope, { before, limit: batchSize }, now)) === batchSize;
  },
};
