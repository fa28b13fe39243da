import type { Job } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { channelsWithWork, workOnChannels } from './failing-channels.sql.ts';

/** Probes each failing channel with a held message once a minute, and releases all held messages once it is ready. */
export const probeChannels: Job<MessagingResources> = {
  name: 'mend-channels',
  due: channelsWithWork,
  everyMs: 1_000,
  async run({ tx, now, resources }, scope) {
    const hasMore = await workOnChannels(tx, scope, now);
    resources.sending.wake();
    return hasMore;
  },
};
