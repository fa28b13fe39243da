import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { activeTrace, formatInstant } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { implement } from '../implement.ts';
import { addressFor } from './address.ts';
import { toMessage } from './message.ts';
import { insertMessages, type MessageRow } from './messages.sql.ts';

/** Initial state of a new message. */
const untouched = {
  step: 0,
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  error_code: null,
  error_message: null,
  event_ids: [],
} satisfies Partial<MessageRow>;

export const sendMessage = implement(contract.sendMessage, {
  async handle(call) {
    const { account, body, tx, now, fail } = call;
    const { contact, to, channels: steps, reference, purpose, send_at } = body;
    if (contact === undefined && to === undefined)
      return fail('invalid_request', 'contact or to is required', 'contact');
    if (contact !== undefined && to !== undefined)
      return fail('invalid_request', 'to must be left out if contact is given', 'to');
    if (send_at && send_at <= now) {
      // The time is the account's: a sandbox's may be far ahead.
      const shown = formatInstant(now, account.timezone);
      return fail('invalid_request', `send_at must be in the future, after ${shown}`, 'send_at');
    }
    const named = steps.map(({ channel }) => channel);
    const givenTo = to === undefined ? null : addressFor(to, named, account);
    const known = contact === undefined ? undefined : await contactOfAccount(call, contact);
    if (known?.phone === '' && !named.includes('email'))
      return fail('invalid_request', 'contact must have a phone number for these channels', 'contact');
    const trace = activeTrace();
    const isSimulated = account.mode === 'test';
    const message = {
      account_id: account.id,
      reference: reference ?? null,
      contact_id: known?.id ?? null,
      given_to: givenTo,
      purpose,
      steps,
      is_simulated: isSimulated,
      needs_channels: !isSimulated,
      send_at: send_at ?? null,
      key: null,
      trace,
    };
    const [stored] = await insertMessages(tx, [message], now);
    const status = send_at ? ('scheduled' as const) : ('queued' as const);
    const [contact_name, contact_phone] = [known?.name ?? null, known?.phone ?? null];
    if (stored) {
      const { id, address } = stored;
      const attempts = [{ number: 1, status: 'queued' as const, reason: null, address }];
      const row = { ...untouched, ...message, id, status, contact_name, contact_phone, created_at: now, attempts };
      return toMessage(row, account);
    }
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
