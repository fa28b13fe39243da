import { resendFailedMessages } from '@customer-platform/contracts/messaging';
import { handleRequest, matchedOrRefusal } from '@customer-platform/service-kit';
import { beginResend } from './begin-resend.ts';

/** Resends an account's failed messages for an operator, under the same rules as for the customer. */
export const handleResendFailedMessages = handleRequest(
  resendFailedMessages,
  async ({ accountId, change }, { since, until, code }) => {
    const asked = { since: new Date(since), until: until === undefined ? undefined : new Date(until), code };
    return await matchedOrRefusal(() => change((call) => beginResend(call, accountId, asked)));
  },
);
