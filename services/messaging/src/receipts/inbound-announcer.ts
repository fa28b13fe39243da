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

/** Sender of an inbound message, null if it has no address; and what it changed of its consent by a word. */
type Sender = { contact: Contact | null; choice?: { opt_out: true } | { opt_in: true } | undefined };
type Contact = z.output<(typeof findOrCreateContact)['reply']>['contact'];

/**
 * Announces inbound messages: customer data finds the contact, or creates one for a new sender, and records an opt-out; then the event is emitted. A process announces an
 * account's messages one after the other, in order of arrival; those that had to wait for customer data come when their next try is due.
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
      if (accounts.known(account_id) === undefined) await accounts.learn([account_id]);
      const country = accounts.known(account_id)?.country ?? '';
      const address = addressOfSender(from, country);
      // On WhatsApp somebody who shows no number is known by the provider's own id; by SMS it is a service that takes no reply.
      if (!address && channel !== 'whatsapp') {
        log.info({ inbound: id }, 'inbound message has a sender without an address');
        return { contact: null };
      }
      // A number may have become another contact's since: only an id that is none tells who its sender was.
      const before = known !== null && addressOfSender(sender, country) === undefined ? { known } : {};
      const asked = { ...address, ...before, name: sender_name, new_id: row.new_contact_id };
      const { contact } = await bus.ask(findOrCreateContact, account_id, asked);
      return { contact, choice: await recordChoice(foundation, row, contact.id) };
    },
    settle: (ended) => emitReceived(foundation, ended),
  };
}

/** Has customer data record what a message says about marketing. A message that is tried again asks with the same time: it is recorded once. */
async function recordChoice({ bus }: Foundation, row: InboundRow, contact: string): Promise<Sender['choice']> {
  const state = optOutOf(row);
  if (state === null) return undefined;
  const { account_id, channel } = row;
  // A provider's clock may be ahead: its time must not depend on when it is asked with.
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

/** Returns the sender's address as contacts have it, or the provider's own id of somebody who shows none. */
function fromOf({ address }: InboundRow, { country }: AccountContext): string {
  const known = addressOfSender(address, country);
  if (known === undefined) return address;
  return 'email' in known ? known.email : known.phone;
}
