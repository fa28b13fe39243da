import { replayAnyEndpoint } from '@customer-platform/contracts/webhooks';
import { handleRequest, matchedOrRefusal } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import type { WebhookResources } from '../implement.ts';
import { beginReplay } from './begin-replay.ts';

/** Begins a replay for an operator, under the same rules as for the customer. */
export const handleReplayAnyEndpoint = handleRequest<typeof replayAnyEndpoint, WebhookResources>(
  replayAnyEndpoint,
  async ({ sql, accountId, resources, change }, { endpoint: id, since }) => {
    const found = await findEndpoint(sql, accountId, id);
    if (!found) return null;
    const endpoint = { ...found, accountId };
    const period = { since: new Date(since), until: undefined, status: 'failed' } as const;
    return await matchedOrRefusal(() => change(({ tx, now }) => beginReplay({ tx, now, resources }, endpoint, period)));
  },
);
