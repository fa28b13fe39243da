import { findDeliveries } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import { selectDeliveriesOf } from './deliveries.sql.ts';

const most = 100;

export const handleFindDeliveries = handleRequest(findDeliveries, async ({ sql, accountId }, { events }) => {
  const rows = await selectDeliveriesOf(sql, accountId, events, most);
  return { deliveries: rows.map((row) => ({ ...row, at: row.at.toISOString() })) };
});
