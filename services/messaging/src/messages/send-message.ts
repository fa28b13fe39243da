import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { traceHeaders } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { implement } from '../resources.ts';
import { addressFor } from './address.ts';
import { toMessage } from './message.ts';
import { insertMessages, selectMessage } from './messages.sql.ts';

export const sendMessage = implement(contract.sendMessage, {
  async handle(call) {
    const { account, body, tx, now, fail } = call;
    const { contact, to, channels: steps, reference, purpose, send_at } = body;
    if (contact === undefined && to === undefined)
      return fail('invalid_request', 'contact or to is required', 'contact');
    if (contact !== undefined && to !== undefined)
      return fail('invalid_request', 'to must be left out where contact is given', 'to');
    if (send_at && send_at <= now) return fail('invalid_request', 'send_at must be in the future', 'send_at');
    const named = steps.map(({ channel }) => channel);
    const givenTo = to === undefined ? null : addressFor(to, named, account);
    const isSimulated = account.mode === 'test';
    const setUp = isSimulated ? named : await channelsOf(tx, account.id);
    const missing = named.findIndex((channel) => !setUp.includes(channel));
    if (missing >= 0) {
      const message = `channels[${missing}].channel must be set up first: PUT /v1/messages/channels/${named[missing]}`;
      return fail('invalid_request', message, 'channels');
    }
    const known = contact === undefined ? undefined : await contactOfAccount(call, contact);
    if (known?.phone === '' && !named.includes('email'))
      return fail('invalid_request', 'contact must have a phone number for these channels', 'contact');
    const trace = traceHeaders();
    const message = {
      account_id: account.id,
      reference: reference ?? null,
      contact_id: known?.id ?? null,
      given_to: givenTo,
      ...{ purpose, steps },
      is_simulated: isSimulated,
      send_at: send_at ?? null,
      key: null,
      trace: trace.traceparent ? trace : null,
    };
    const [stored] = await insertMessages(tx, [message], now);
    return toMessage((await selectMessage(tx, account.id, stored!.id))!, account);
  },
  committed: ({ dispatcher }) => dispatcher.wake(),
});
