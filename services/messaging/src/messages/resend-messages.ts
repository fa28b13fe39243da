import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { beginResend } from './begin-resend.ts';

export const resendMessages = implement(contract.resendMessages, {
  handle: async (call) => {
    const { since, until, code } = call.body;
    return await beginResend(call, call.account.id, { since, until, code });
  },
});
