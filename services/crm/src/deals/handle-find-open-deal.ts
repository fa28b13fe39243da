import { findOpenDeal } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { toDeal } from './deal.ts';
import { selectOpenDeal } from './deals.sql.ts';

export const handleFindOpenDeal = handleRequest(findOpenDeal, async ({ sql, accountId }, { contact, pipelines }) => {
  const row = await selectOpenDeal(sql, accountId, contact, pipelines);
  return { deal: row ? { ...toDeal(row, 'UTC'), number: row.number } : null };
});
