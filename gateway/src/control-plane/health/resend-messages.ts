import { adminOperations } from '@customer-platform/contracts/accounts';
import { resendFailedMessages } from '@customer-platform/contracts/messaging';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { recordAround } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';
import { changeMs, throwRefusal } from '../services.ts';

/** Sends an account's failed messages of a period again, as its customer can. */
export const resendMessages = implement(adminOperations.resendMessages, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ found: { account_id: account }, body: { since, until, code, reason }, prefetch, resources: { bus } }) {
    const asked = {
      since: since.toISOString(),
      ...(until && { until: until.toISOString() }),
      ...(code !== undefined && { code }),
    };
    const changed = { action: 'messages.resend', target: `accounts/${account}`, account, reason } as const;
    const matched = prefetch((call) =>
      recordAround(call, changed, async () => {
        const reply = await bus.ask(resendFailedMessages, account, asked, changeMs);
        throwRefusal(reply.refusal);
        return { isChanged: reply.matched > 0, result: reply.matched, after: { ...asked, matched: reply.matched } };
      }),
    );
    return { matched };
  },
});
