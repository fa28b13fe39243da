import type { Job } from '@customer-platform/service-kit';
import { deleteMergePairs, deleteMerges } from './undo.sql.ts';
import { recordedSince } from './undo-period.ts';

const batchSize = 5_000;

/** Deletes records of merges that can no longer be undone. Their pairs go first, since they may be many. */
export const forgetMerges: Job<unknown> = {
  name: 'forget-merges',
  everyMs: 60_000,
  async run({ tx, now }) {
    const before = recordedSince(now);
    if ((await deleteMergePairs(tx, before, batchSize)) > 0) return true;
    return (await deleteMerges(tx, before, batchSize)) === batchSize;
  },
};
