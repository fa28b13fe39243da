import { randomUUID } from 'node:crypto';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { addressOfSender } from '../messages/sender-address.ts';
import { insertInbound, isMessage } from './receipts.sql.ts';

const fileTypes: readonly contract.InboundType[] = ['image', 'video', 'audio', 'document', 'sticker'];

export const simulateInbound = implement(contract.simulateInbound, {
  async handle({ account, body, tx, now, fail }) {
    if (account.mode === 'live') return fail('not_found', 'Only a sandbox has simulated messages: use a test key');
    const { channel, name, type, text, media, reaction_to } = body;
    if (media && !fileTypes.includes(type))
      return fail('invalid_request', `media must be left out unless type is one of ${fileTypes.join(', ')}`, 'media');
    if (reaction_to !== undefined && type !== 'reaction')
      return fail('invalid_request', 'reaction_to must be left out unless type is reaction', 'reaction_to');
    if (reaction_to !== undefined && !(await isMessage(tx, account.id, reaction_to)))
      return fail('invalid_request', 'reaction_to must be the id of a message of this account', 'reaction_to');
    const from = senderOf(body, account);
    const message = {
      providerId: `simulated-${randomUUID()}`,
      sender: from,
      from,
      name,
      type,
      body: text,
      media: media ? { ...media, file_name: media.file_name ?? null } : null,
      reactionTo: reaction_to ?? null,
      at: now,
    };
    const [id] = await insertInbound(tx, { account_id: account.id, channel }, [message], now);
    return { id: id! };
  },
  committed: ({ inbound }) => inbound.wake(),
});

/**
 * Returns the sender in the form that a provider of the channel uses. That is an email address, a number in E.164, or
 * on WhatsApp any other id with a letter. Throws `invalid_request`, field `from`.
 */
function senderOf(
  { channel, from }: { channel: contract.Channel; from: string },
  account: Pick<AccountContext, 'country'>,
): string {
  const address = addressOfSender(from, account.country);
  if (channel === 'email') {
    if (address && 'email' in address) return address.email;
    throw refusal('from must be an email address alone, such as ada@example.com');
  }
  if (address && 'phone' in address) return address.phone;
  const isOtherId = address === undefined && /[A-Za-z]/.test(from);
  if (channel === 'whatsapp' && isOtherId) return from;
  if (channel === 'sms') throw refusal('from must be a phone number, such as +4930901820');
  throw refusal('from must be a phone number, such as +4930901820, or an id with letters, such as DE.1349120865530274');
}

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', message, { field: 'from' });
}
