import { getDealSummary } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { toDeal } from './deal.ts';
import { selectDeal } from './deals.sql.ts';

/** The deal as its GET gives it, but with its times in UTC: who asks knows the account's zone. */
export const handleGetDealSummary = handleRequest(getDealSummary, async ({ sql, accountId }, { deal: id }) => {
  const row = await selectDeal(sql, accountId, id);
  return { deal: row ? toDeal(row, 'UTC') : null };
});
