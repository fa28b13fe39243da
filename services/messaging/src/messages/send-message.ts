import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { formatInstant } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { implement } from '../implement.ts';
import { addressFor } from './address.ts';
import { channelsWrittenOn, numberOfSender } from './senders.sql.ts';
import { storeMessage } from './store-message.ts';

export const sendMessage = implement(contract.sendMessage, {
  async handle(call) {
    const { account, body, tx, now, fail } = call;
    const { contact, to, channels: steps, reference, purpose, send_at } = body;
    if (contact === undefined && to === undefined)
      return fail('invalid_request', 'contact or to is required', 'contact');
    if (contact !== undefined && to !== undefined)
      return fail('invalid_request', 'to must be left out if contact is given', 'to');
    if (send_at && send_at <= now) {
      // The account's time, which a sandbox clock may have moved far ahead.
      const shown = formatInstant(now, account.timezone);
      return fail('invalid_request', `send_at must be in the future, after ${shown}`, 'send_at');
    }
    const named = steps.map(({ channel }) => channel);
    const address = to === undefined ? undefined : addressFor(to, named, account);
    const givenTo = address === undefined ? undefined : await numberOfSender(tx, account.id, address);
    const known = contact === undefined ? undefined : await contactOfAccount(call, contact);
    if (known?.phone === '' && !named.includes('email')) {
      // A contact without a number is reached at the address from which they wrote.
      const writtenOn = await channelsWrittenOn(tx, account.id, known.id);
      if (!writtenOn.some((channel) => named.includes(channel)))
        return fail('invalid_request', 'contact must have a phone number for these channels', 'contact');
    }
    const stored = await storeMessage(call, {
      contact: known,
      to: givenTo,
      reference,
      purpose,
      steps,
      sendAt: send_at,
    });
    if (stored) return stored;
    const setUp = await channelsOf(tx, account.id);
    const missing = Math.max(
      0,
      named.findIndex((channel) => !setUp.includes(channel)),
    );
    const text = `channels[${missing}].channel must be set up first: PUT /v1/messages/channels/${named[missing]}`;
    return fail('invalid_request', text, 'channels');
  },
  committed: ({ sending }) => sending.wake(),
  isOneStatement: true,
});
