import { findOrCreateContact, recordOptOut } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { messageReceived } from '@customer-platform/contracts/messaging';
import {
  type DueWork,
  type Ended,
  type Foundation,
  formatInstant,
  inWorkTransaction,
} from '@customer-platform/service-kit';
import type { z } from 'zod';
import { addressOfSender } from '../messages/sender-address.ts';
import { claimInbound, endInbound, type InboundRow, inboundMessages } from './inbound.sql.ts';
import { optOutOf } from './opt-out-words.ts';

/** Contact of an inbound message's sender, null if the sender has no address, and the consent that a keyword changed. */
type Sender = { contact: Contact | null; choice?: { opt_out: true } | { opt_in: true } | undefined };
type Contact = z.output<(typeof findOrCreateContact)['reply']>['contact'];

/**
 * Announces inbound messages. The customer data service finds or creates the contact and records an opt-out, then the event is emitted. A process
 * announces an account's messages one at a time, in order of arrival. A message that failed follows when its retry is due.
 */
export function inboundAnnouncement(foundation: Foundation): DueWork<InboundRow, Sender> {
  const { bus, log, accounts } = foundation;
  return {
    queue: 'inbound',
    table: inboundMessages,
    concurrency: { most: 32, perLane: 1 },
    retries: { leaseMs: 10_000, backoff: { firstMs: 1_000, longestMs: 15_000 } },
    everyMs: 500,
    stopMs: 5_000,
    needsBus: true,
    claim: claimInbound,
    async run(row) {
      const { account_id, id, channel, sender, address: from, sender_name, known } = row;
      if (accounts.known(account_id) === undefined) await accounts.fetch([account_id]);
      const country = accounts.known(account_id)?.country ?? '';
      const address = addressOfSender(from, country);
      // On WhatsApp, a sender without a number has a provider's id. On SMS, such a sender is a service that accepts no replies.
      if (!address && channel !== 'whatsapp') {
        log.info({ inbound: id }, 'inbound message has a sender without an address');
        return { contact: null };
      }
      // A phone number may meanwhile belong to another contact. Only an id that is not an address identifies an earlier sender.
      const before = known !== null && addressOfSender(sender, country) === undefined ? { known } : {};
      const asked = { ...address, ...before, name: sender_name, new_id: row.new_contact_id };
      const { contact } = await bus.ask(findOrCreateContact, account_id, asked);
      return { contact, choice: await recordChoice(foundation, row, contact.id) };
    },
    settle: (ended) => emitReceived(foundation, ended),
  };
}

/** Has the customer data service record a change of marketing consent. A retry sends the same time, so the change is recorded once. */
async function recordChoice({ bus }: Foundation, row: InboundRow, contact: string): Promise<Sender['choice']> {
  const state = optOutOf(row);
  if (state === null) return undefined;
  const { account_id, channel } = row;
  // A provider's clock may be ahead. The time must be the same in every retry.
  const at = (row.at > row.arrived_at ? row.arrived_at : row.at).toISOString();
  const { changed } = await bus.ask(recordOptOut, account_id, { contact, channel, state, source: 'keyword', at });
  if (state === 'withdrawn') return { opt_out: true };
  return changed ? { opt_in: true } : undefined;
}

async function emitReceived(foundation: Foundation, ended: readonly Ended<InboundRow, Sender>[]): Promise<void> {
  await inWorkTransaction({ ...foundation, resources: undefined }, async ({ tx, emit, findAccounts }) => {
    const accounts = findAccounts(ended.map(({ row }) => row.account_id));
    const contacts = ended.map(({ row, result }) => (accounts.has(row.account_id) ? result.contact : null));
    const announced = await endInbound(
      tx,
      ended.map(({ row }) => row),
      contacts.map((contact) => contact?.id ?? null),
    );
    for (const [index, { row, result }] of ended.entries()) {
      const [account, contact] = [accounts.get(row.account_id), contacts[index]];
      if (!account || !contact || !announced.has(row.id)) continue;
      const { id, channel, type, body, media, reaction_to } = row;
      const at = formatInstant(row.at, account.timezone);
      const message = { id, channel, from: fromOf(row, account), type, body, media, reaction_to, at };
      emit(messageReceived, account, { message, contact, ...result.choice });
    }
  });
}

/** Returns the sender's address in the form of contacts, or the provider's own id if the sender has none. */
function fromOf({ address }: InboundRow, { country }: AccountContext): string {
  const known = addressOfSender(address, country);
  if (known === undefined) return address;
  return 'email' in known ? known.email : known.phone;
}
