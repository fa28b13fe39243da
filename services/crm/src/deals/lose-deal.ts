import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { changeDeal } from './change-deal.ts';
import { toDeal } from './deal.ts';
import { lockDeal } from './deals.sql.ts';

export const loseDeal = implement(contract.loseDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    if (found.status === 'lost') return toDeal(found, account.timezone);
    if (found.status !== 'open') return fail('invalid_state', 'The deal is won; reopen it before you lose it');
    const change = await changeDeal({ account, tx, found, now }, { status: 'lost', closed_at: now });
    emit(contract.dealLost, { ...change, reason: body.reason });
    return change.deal;
  },
});
