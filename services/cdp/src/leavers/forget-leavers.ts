import type { Job } from '@customer-platform/service-kit';
import { deleteLeavers } from './leavers.sql.ts';

const batchSize = 5_000;

/** Deletes positions of members that left more than a day ago. */
export const forgetLeavers: Job<unknown> = {
  name: 'forget-leavers',
  everyMs: 60_000,
  run: async ({ tx, now }) => (await deleteLeavers(tx, now, batchSize)) === batchSize,
};
