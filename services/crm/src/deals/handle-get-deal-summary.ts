import { getDealSummary } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { toDeal } from './deal.ts';
import { selectDeal } from './deals.sql.ts';

/** Replies with the deal as the API shows it, but with times in UTC. The requester knows the account's time zone. */
export const handleGetDealSummary = handleRequest(getDealSummary, async ({ sql, accountId }, { deal: id }) => {
  const row = await selectDeal(sql, accountId, id);
  return { deal: row ? toDeal(row, 'UTC') : null };
});
