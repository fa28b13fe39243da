import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { deleteDealRow, lockDeal } from './deals.sql.ts';

export const deleteDeal = implement(contract.deleteDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle({ account, tx, found, emit }) {
    await deleteDealRow(tx, account.id, found.id);
    emit(contract.dealDeleted, { deal: { id: found.id, title: found.title } });
    emit(contract.dealForgotten, { deal: { id: found.id } });
    return undefined;
  },
});
