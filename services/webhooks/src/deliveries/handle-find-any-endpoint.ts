import { findAnyEndpoint } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import { selectAllEndpoints } from '../endpoints/all-endpoints.sql.ts';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { selectLastDeliveries } from './deliveries.sql.ts';

const mostDeliveries = 50;

/** Returns an endpoint of any account with its last 50 deliveries, for operators. */
export const handleFindAnyEndpoint = handleRequest<typeof findAnyEndpoint, WebhookResources>(
  findAnyEndpoint,
  async ({ sql, resources: { clocks, retention } }, { endpoint: id }) => {
    const [shown] = (await selectAllEndpoints(sql, { endpoint: id, limit: 1 }, clocks.real())) ?? [];
    if (!shown) return null;
    const key = { accountId: shown.account, endpointId: id };
    const [set, deliveries] = await Promise.all([
      findEndpoint(sql, key.accountId, id),
      selectLastDeliveries(sql, key, oldestShown(clocks.real(), retention), mostDeliveries),
    ]);
    if (!set) return null;
    const { description, events } = set;
    return {
      endpoint: { ...shown, description, events },
      deliveries: deliveries.map((delivery) => ({ ...delivery, at: delivery.at.toISOString() })),
    };
  },
);
