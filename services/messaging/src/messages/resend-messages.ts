import * as contract from '@customer-platform/contracts/messaging';
import { dayMs } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { countMatched, countRunning, insertResend } from './resends.sql.ts';

const mostDays = 7;
/** Requests of an account that run at once. */
const maxRunning = 10;

export const resendMessages = implement(contract.resendMessages, {
  async handle({ account, body: { since, until = undefined, code = null }, tx, now, fail }) {
    if (since >= now) fail('invalid_request', 'since must be in the past', 'since');
    if (since.getTime() < now.getTime() - mostDays * dayMs)
      fail('invalid_request', `since must be at most ${mostDays} days ago`, 'since');
    if (until !== undefined && until <= since) fail('invalid_request', 'until must be later than since', 'until');
    // What fails from now on is no part of it, or it would never end.
    const period = { account_id: account.id, since, until: until !== undefined && until < now ? until : now, code };
    const matched = await countMatched(tx, period);
    if (matched === 0) return { matched };
    if ((await countRunning(tx, account.id)) >= maxRunning)
      fail('invalid_state', `${maxRunning} requests to send messages again are running; wait until one is through`);
    await insertResend(tx, period, now);
    return { matched };
  },
});
