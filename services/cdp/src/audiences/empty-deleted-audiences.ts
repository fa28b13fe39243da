import type { Job } from '@customer-platform/service-kit';
import { emptyNext, finishDeleted, takeDeleted } from './deleted-audiences.sql.ts';

const batchSize = 5_000;

/**
 * Removes members, re-evaluations and leavers of deleted audiences, one batch of one audience per round. Uses the real clock, since the rows are not
 * visible to anyone.
 */
export const emptyDeletedAudiences: Job<unknown> = {
  name: 'empty-deleted-audiences',
  watched: [{ name: 'deleted_audiences', due: null }],
  // Pause before rows that were locked are retried.
  everyMs: 1_000,
  async run({ tx }) {
    const deleted = await takeDeleted(tx);
    if (!deleted) return false;
    return (await emptyNext(tx, deleted, batchSize)) || (await finishDeleted(tx, deleted));
  },
};
