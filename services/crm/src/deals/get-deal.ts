import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { toDeal } from './deal.ts';
import { selectDeal } from './deals.sql.ts';

export const getDeal = implement(contract.getDeal, {
  find: ({ account, tx, params }) => selectDeal(tx, account.id, params.deal_id),
  handle: async ({ account, found }) => toDeal(found, account.timezone),
});
