import { dayMs, type Job } from '@customer-platform/service-kit';

const keptMs = 30 * dayMs;
const batchSize = 1_000;

export const forgetProcessedKeys: Job<unknown> = {
  name: 'forget-processed-keys',
  everyMs: 60_000,
  async run({ tx, now }) {
    const deleted = await tx`
      delete from taken_keys where (account_id, key) in (
        select account_id, key from taken_keys where at <= ${new Date(now.getTime() - keptMs)} order by at limit ${batchSize})`;
    return deleted.count === batchSize;
  },
};
