import type { Job } from '@customer-platform/service-kit';
import { emptyNext, finishDeleted, takeDeleted } from './deleted-audiences.sql.ts';

const batchSize = 5_000;

/**
 * Removes members, re-evaluations and leavers of deleted audiences, one part of one audience per round. By the real clock: nobody sees or waits for
 * them.
 */
export const emptyDeletedAudiences: Job<unknown> = {
  name: 'empty-deleted-audiences',
  watched: [{ name: 'deleted_audiences', due: null }],
  // The pause before rows that others have locked are tried again.
  everyMs: 1_000,
  async run({ tx }) {
    const deleted = await takeDeleted(tx);
    if (!deleted) return false;
    return (await emptyNext(tx, deleted, batchSize)) || (await finishDeleted(tx, deleted));
  },
};
