import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { selectMessage } from './attempts.sql.ts';
import { markFailed } from './resends.sql.ts';
import { storeMessage } from './store-message.ts';

export const resendMessage = implement(contract.resendMessage, {
  find: ({ account, params, tx }) => selectMessage(tx, account.id, params.message_id),
  async handle(call) {
    const { account, found, tx, now, fail } = call;
    const message = await markFailed(tx, account.id, found.id, now);
    if (!message)
      return fail('invalid_state', `The message is ${found.status}; only a failed message can be sent again`);
    const { reference, contact_id, given_to, purpose, steps, useful_until } = message;
    const contact = contact_id === null ? undefined : await contactOfAccount(call, contact_id);
    const stored = await storeMessage(call, {
      contact,
      to: given_to ?? undefined,
      reference: reference ?? undefined,
      purpose,
      steps,
      usefulUntil: useful_until,
      needsChannels: false,
    });
    return stored!;
  },
  committed: ({ sending }) => sending.wake(),
});
