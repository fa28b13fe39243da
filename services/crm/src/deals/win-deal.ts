import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { changeDeal } from './change-deal.ts';
import { toDeal } from './deal.ts';
import { lockDeal } from './deals.sql.ts';

export const winDeal = implement(contract.winDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle({ account, tx, found, now, emit, fail }) {
    if (found.status === 'won') return toDeal(found, account.timezone);
    if (found.status !== 'open') return fail('invalid_state', 'The deal is lost; reopen it before you win it');
    const change = await changeDeal({ account, tx, found, now }, { status: 'won', closed_at: now });
    emit(contract.dealWon, change);
    return change.deal;
  },
});
