import { webhookDisabled } from '@customer-platform/contracts/webhooks';
import type { Job } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { toEndpoint } from './endpoint.ts';
import { deleteAnnouncements, lockAnnouncements } from './endpoints.sql.ts';

const batch = 20;

/** Publishes `webhook.disabled` for each endpoint that the platform disabled, in the state it had then. The row stays until it is published. */
export const announceDisabled: Job<WebhookResources> = {
  name: 'announce-disabled',
  due: { name: 'announcements', due: null },
  everyMs: 500,
  async run({ tx, emit, findAccounts, log }, scope) {
    const announcements = await lockAnnouncements(tx, scope, batch);
    if (announcements.length === 0) return false;
    const accounts = findAccounts(announcements.map((row) => row.account_id));
    for (const row of announcements) {
      const account = accounts.get(row.account_id);
      const previous = { active: true, disabled_reason: null };
      if (account) emit(webhookDisabled, account, { webhook: toEndpoint(row, account), previous });
      else log.error({ account: row.account_id, endpoint: row.id }, 'a disabled endpoint has an unknown account');
    }
    await deleteAnnouncements(
      tx,
      announcements.map((row) => row.announcement),
    );
    return announcements.length === batch;
  },
};
