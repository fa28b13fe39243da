import { findDeliveries } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { selectDeliveriesOf } from './deliveries.sql.ts';

const most = 100;

export const handleFindDeliveries = handleRequest<typeof findDeliveries, WebhookResources>(
  findDeliveries,
  async ({ sql, accountId, resources }, { events }) => {
    const oldest = oldestShown(resources.clocks.real(), resources.retention);
    const rows = await selectDeliveriesOf(sql, accountId, { eventIds: events, oldest }, most);
    return { deliveries: rows.map((row) => ({ ...row, at: row.at.toISOString() })) };
  },
);
