import type { Job } from '@customer-platform/service-kit';
import { settleCallsBefore } from './ledger.sql.ts';

/** Longer than any call takes. */
const lostAfterMs = 15 * 60_000;
const batchSize = 100;

/** Counts calls whose process died before their answer: what they used nobody knows, so it is all that they had reserved. */
export const settleLostCalls: Job<unknown> = {
  name: 'settle-lost-calls',
  everyMs: 30_000,
  async run({ tx, now }) {
    const before = new Date(now.getTime() - lostAfterMs);
    return (await settleCallsBefore(tx, before, batchSize, now)) === batchSize;
  },
};
