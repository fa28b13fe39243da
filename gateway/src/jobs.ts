import type { Job } from '@customer-platform/service-kit';
import { forgetChanges } from './changes/changes.sql.ts';
import type { UseLog } from './keys/key-cache.ts';

/** Longer than any gateway goes without polling; one that does drops its whole cache. */
const changesKeptMs = 3_600_000;

/** Returns the job that writes when keys were last used. */
export function saveKeyUses(uses: UseLog): Job<undefined> {
  return {
    name: 'save-key-uses',
    everyMs: 30_000,
    async run({ tx }) {
      await uses.save(tx);
      return false;
    },
  };
}

/** Deletes changes that every gateway has seen. */
export const forgetOldChanges: Job<undefined> = {
  name: 'forget-old-changes',
  everyMs: 60_000,
  async run({ tx, now }) {
    const limit = 5_000;
    return (await forgetChanges(tx, new Date(now.getTime() - changesKeptMs), limit)) === limit;
  },
};
