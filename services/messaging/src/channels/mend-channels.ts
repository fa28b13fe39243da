import type { Job } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { channelsWithWork, workOnChannels } from './failing-channels.sql.ts';

/** Has a held message try each channel that is failing, once a minute, and releases what was held once a channel is ready again. */
export const mendChannels: Job<MessagingResources> = {
  name: 'mend-channels',
  due: channelsWithWork,
  everyMs: 1_000,
  async run({ tx, now, resources }, scope) {
    const hasMore = await workOnChannels(tx, scope, now);
    resources.sending.wake();
    return hasMore;
  },
};
