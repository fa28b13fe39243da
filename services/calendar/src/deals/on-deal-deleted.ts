import { dealForgotten } from '@customer-platform/contracts/crm';
import { onEvent } from '@customer-platform/service-kit';
import { removeDeal } from './deals.sql.ts';

export const onDealDeleted = onEvent(dealForgotten, async ({ tx }, event) => {
  await removeDeal(tx, event.account, event.data.deal.id);
});
