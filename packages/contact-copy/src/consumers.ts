import {
  type Contact,
  contactCreated,
  contactForgotten,
  contactMerged,
  contactRestored,
  contactUnmerged,
  contactUpdated,
} from '@customer-platform/contracts/cdp';
import type { EventData } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent, Sql } from '@customer-platform/service-kit';
import { type ContactChange, keepContacts, leaveWithSurvivor } from './contacts.sql.ts';

/** Runs where rows may have been left with a survivor. */
type Left = (tx: Sql, accountId: string, survivorId: string) => Promise<void>;

/** Consumer that keeps a service's copy of contacts up to date, in whatever order events arrive. */
export const contactConsumer: Consumer<unknown> = {
  name: 'contacts',
  filter: { service: 'cdp', kind: 'contact.*' },
  batchSize: 100,
  // A handler that meets a contact whose copy is not there yet asks its owner.
  gatherMs: 200,
  // A copy has the number of the event that it is of: one that comes again changes nothing.
  knowsTaken: true,
  take: ({ tx }, events) => keepContactsOf(tx, events),
};

/**
 * Returns the consumer that leaves with the survivor of an undone merge what was made after it. `table` has what the service holds of contacts:
 * account_id, id, contact_id and created_at, by an index of account and contact. An event that comes again changes nothing: what was given to
 * the restored contact since stays there.
 */
export function restoredContactConsumer(table: string, left?: Left): Consumer<unknown> {
  return {
    name: 'restored-contacts',
    filter: { audience: 'internal', service: 'cdp', kind: contactRestored.kind },
    batchSize: 100,
    async take({ tx }, events) {
      for (const event of events as ReceivedEvent<EventData<typeof contactRestored>>[]) {
        await leaveWithSurvivor(tx, table, event);
        await left?.(tx, event.account, event.data.survivor);
      }
    },
  };
}

/**
 * Consumer of undone merges, with a place in the stream of its own: processes of a release that did not know them pass them over in
 * `contacts`. Whichever of the two comes second changes nothing.
 */
export const unmergedContactConsumer: Consumer<unknown> = {
  name: 'unmerged-contacts',
  filter: { audience: 'public', service: 'cdp', kind: contactUnmerged.kind },
  batchSize: 100,
  knowsTaken: true,
  take: ({ tx }, events) => keepContactsOf(tx, events),
};

/** Brings the copy up to date with events of contacts: for a consumer that needs it to be so before it goes on. */
export async function keepContactsOf(tx: Sql, events: readonly ReceivedEvent[]): Promise<void> {
  await keepContacts(tx, events.flatMap(changesIn));
}

/** Returns the contacts that an event changes; a merge changes both, and so does undoing it. */
function changesIn({ account, type, sequence, data }: ReceivedEvent): ContactChange[] {
  const change = ({ id, name, phone }: Pick<Contact, 'id' | 'name' | 'phone'>): ContactChange => {
    return { account_id: account, id, name, phone: phone ?? '', merged_into: undefined, deleted: false, sequence };
  };
  const { contact, merged } = data as EventData<typeof contactMerged>;
  const { restored } = data as EventData<typeof contactUnmerged>;
  switch (type) {
    case contactCreated.kind:
    case contactUpdated.kind:
      return [change(contact)];
    case contactMerged.kind:
      return [change(contact), { ...change(merged), merged_into: contact.id }];
    case contactUnmerged.kind:
      return [change(contact), { ...change(restored), merged_into: null }];
    case contactForgotten.kind:
      // The public event of a deletion, which has no name, tells nothing more.
      return 'name' in contact ? [{ ...change(contact), deleted: true }] : [];
    default:
      return [];
  }
}
