import { findDeliveries } from '@customer-platform/contracts/webhooks';
import { handleRequest, type RequestCall } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { selectDeliveriesOf } from './deliveries.sql.ts';

const most = 100;

export const handleFindDeliveries = handleRequest(
  findDeliveries,
  async ({ sql, accountId }: RequestCall<WebhookResources>, { events }) => {
    const rows = await selectDeliveriesOf(sql, accountId, events, most);
    return { deliveries: rows.map((row) => ({ ...row, at: row.at.toISOString() })) };
  },
);
