import type { Job } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { deleteOldReplays } from './replays.sql.ts';

const batch = 500;

/** Deletes replays older than the retention. Events, deliveries and attempts are dropped with their partitions. */
export const forgetOldReplays: Job<WebhookResources> = {
  name: 'forget-old-replays',
  everyMs: 60_000,
  async run({ tx, resources }) {
    return (await deleteOldReplays(tx, oldestShown(resources.clocks.real(), resources.retention), batch)) === batch;
  },
};
