import { enableAnyEndpoint } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { changeEndpoint } from './change-endpoint.ts';
import { findEndpoint } from './endpoints.sql.ts';

/** Enables an endpoint for an operator, under the same rules as for the customer. */
export const handleEnableAnyEndpoint = handleRequest<typeof enableAnyEndpoint, WebhookResources>(
  enableAnyEndpoint,
  async ({ accountId, resources, change }, { endpoint }) => {
    const enabled = await change(async ({ tx, now }) => {
      const found = await findEndpoint(tx, accountId, endpoint, 'lock');
      if (!found) return null;
      if (found.active) return { matched: 0, disabled_reason: null };
      await changeEndpoint(tx, accountId, { found, values: { ...found, active: true } }, now);
      return { matched: 1, disabled_reason: found.disabled_reason };
    });
    if (enabled?.matched) resources.dispatcher.wake();
    return enabled;
  },
);
