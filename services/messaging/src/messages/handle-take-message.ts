import { fetchContact, knownContact } from '@customer-platform/contact-copy';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Channel, takeMessage } from '@customer-platform/contracts/messaging';
import { activeTrace, handleRequest } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { selectAutomatic } from '../settings/settings.sql.ts';
import { automaticSteps } from './automatic-steps.ts';
import { insertMessages, selectIdByKey, selectReplyAddress } from './messages.sql.ts';
import { addressOfSender } from './sender-address.ts';

/** Stores a message that another service sends to a contact, once per key. Throws if the account does not exist. */
export const handleTakeMessage = handleRequest<typeof takeMessage, MessagingResources>(
  takeMessage,
  async (
    { sql, accountId, resources, change },
    { key, contact, channel, body, reference, reply_to, needs_channel, is_automatic },
  ) => {
    const taken = await selectIdByKey(sql, accountId, key);
    if (taken !== undefined) return { message: taken, refusal: null };
    // The message goes to the number in this service's copy of the contact. If the contact is unknown, it fails with `no_address`.
    if (!(await knownContact(sql, accountId, contact)))
      await fetchContact(contact)({
        account: { id: accountId },
        onConnection: (work) => work(sql),
        ask: resources.askFor(accountId),
      });
    const trace = activeTrace();
    const written = reply_to === undefined ? undefined : await selectReplyAddress(sql, accountId, reply_to);
    const message = await change(async ({ tx, now, findAccounts }) => {
      const account = findAccounts([accountId]).get(accountId);
      if (!account) throw new Error(`account ${accountId} does not exist`);
      // An email needs a subject: at least the account's name.
      const content = { body, subject: account.name };
      const alone = { channel, ...content, fallback_after_seconds: 300 };
      const [automatic] = is_automatic ? await selectAutomatic(tx, [accountId]) : [];
      const steps = automatic ? automaticSteps(channel, content, automatic, account) : [alone];
      const given = {
        account_id: accountId,
        reference,
        contact_id: contact,
        given_to: written === undefined ? null : replyAddress(written, channel, account),
        purpose: 'service' as const,
        // If no channel is set up, the message fails with that reason.
        steps: steps.length > 0 ? steps : [alone],
        is_simulated: account.mode === 'test',
        useful_until: null,
        needs_channels: needs_channel && account.mode === 'live',
        send_at: null,
        key,
        trace,
      };
      const [stored] = await insertMessages(tx, [given], now);
      // A concurrent request with the same key stored it.
      return stored?.id ?? (await selectIdByKey(tx, accountId, key));
    });
    if (message === undefined)
      return {
        message: null,
        refusal: `The channel ${channel} is not set up; set it up with PUT /v1/messages/channels/${channel}`,
      };
    resources.sending.wake();
    return { message, refusal: null };
  },
);

/**
 * Returns the address on this channel for a reply to a message. Null means unknown: the contact's own address is used.
 * A sender without an address is reached only on the original channel, by the provider's id.
 */
function replyAddress(
  written: { channel: Channel; address: string },
  channel: Channel,
  { country }: AccountContext,
): string | null {
  const address = addressOfSender(written.address, country);
  if (address === undefined) return written.channel === channel ? written.address : null;
  if ('email' in address) return channel === 'email' ? address.email : null;
  return channel === 'email' ? null : address.phone;
}
