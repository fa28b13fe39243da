import { webhookDisabled } from '@customer-platform/contracts/webhooks';
import type { Job } from '@customer-platform/service-kit';
import type { WebhookResources } from '../resources.ts';
import { toEndpoint } from './endpoint.ts';
import { lockUnannounced, noteAnnounced } from './endpoints.sql.ts';

const batch = 20;

/** Publishes webhook.disabled for every endpoint that the platform switched off: the row remembers it until it is published. */
export const announceDisabled: Job<WebhookResources> = {
  name: 'announce-disabled',
  everyMs: 500,
  async run({ tx, emit, findAccount, log }) {
    const endpoints = await lockUnannounced(tx, batch);
    let announced = 0;
    for (const endpoint of endpoints) {
      // One account that cannot be found must not keep the others from being told.
      const account = await findAccount(endpoint.account_id).catch((error: unknown) => {
        log.error(
          { err: error, endpoint: endpoint.id },
          'an endpoint that is off cannot be announced; it is tried again',
        );
      });
      if (!account) continue;
      emit(webhookDisabled, account, { webhook: toEndpoint(endpoint, account) });
      await noteAnnounced(tx, endpoint.account_id, endpoint.id);
      announced++;
    }
    return announced === batch;
  },
};
