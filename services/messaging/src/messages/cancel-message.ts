import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { lockMessages, saveMessages, type WholeMessage } from './attempts.sql.ts';
import { toMessage } from './message.ts';
import { cancel } from './message-state.ts';

export const cancelMessage = implement(contract.cancelMessage, {
  async find({ account, params, tx }): Promise<WholeMessage | undefined> {
    const [message] = await lockMessages(tx, [{ account_id: account.id, message_id: params.message_id }]);
    return message;
  },
  async handle({ account, found, tx, fail }) {
    if (found.status === 'cancelled') return toMessage(found, account);
    if (!cancel(found))
      return fail('invalid_state', `The message is ${found.status}; only a scheduled or queued one can be canceled`);
    await saveMessages(tx, [found]);
    return toMessage(found, account);
  },
});
