import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { changeDeal } from './change-deal.ts';
import { toDeal } from './deal.ts';
import { lockDeal } from './deals.sql.ts';

export const reopenDeal = implement(contract.reopenDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle({ account, tx, found, now, emit }) {
    if (found.status === 'open') return toDeal(found, account.timezone);
    const change = await changeDeal({ account, tx, found, now }, { status: 'open', closed_at: null });
    emit(contract.dealReopened, change);
    return change.deal;
  },
});
