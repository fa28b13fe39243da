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
import { assignToSurvivor, type ContactChange, upsertContacts } from './contacts.sql.ts';

/** Runs after rows may have been assigned to a survivor. */
type OnAssigned = (tx: Sql, accountId: string, survivorId: string) => Promise<void>;

/** Keeps a service's copy of contacts up to date, whatever the order of events. */
export const contactConsumer: Consumer<unknown> = {
  name: 'contacts',
  filter: { service: 'cdp', kind: 'contact.*' },
  batchSize: 100,
  // A delay does not matter: a handler requests a contact that is missing in the copy.
  gatherMs: 200,
  // Each row has the sequence of its event, so a repeated event changes nothing.
  deduplicates: true,
  take: ({ tx }, events) => applyContactEvents(tx, events),
};

/**
 * Returns the consumer that assigns rows created between a merge and its undoing to the survivor. `table` has rows of contacts with account_id, id,
 * contact_id and created_at, and an index on account and contact. A repeated event changes nothing: rows given to the restored contact later stay
 * there.
 */
export function restoredContactConsumer(table: string, onAssigned?: OnAssigned): Consumer<unknown> {
  return {
    name: 'restored-contacts',
    filter: { audience: 'internal', service: 'cdp', kind: contactRestored.kind },
    batchSize: 100,
    async take({ tx }, events) {
      for (const event of events as ReceivedEvent<EventData<typeof contactRestored>>[]) {
        await assignToSurvivor(tx, table, event);
        await onAssigned?.(tx, event.account, event.data.survivor);
      }
    },
  };
}

/**
 * Consumes undone merges with its own position in the stream, because earlier releases skip them in `contacts`. Whichever consumer comes second
 * changes nothing.
 */
export const unmergedContactConsumer: Consumer<unknown> = {
  name: 'unmerged-contacts',
  filter: { audience: 'public', service: 'cdp', kind: contactUnmerged.kind },
  batchSize: 100,
  deduplicates: true,
  take: ({ tx }, events) => applyContactEvents(tx, events),
};

/** Applies contact events to the copy, for a consumer that needs an up-to-date copy before it continues. */
export async function applyContactEvents(tx: Sql, events: readonly ReceivedEvent[]): Promise<void> {
  await upsertContacts(tx, events.flatMap(changesIn));
}

/** Returns the contacts that an event changes. Merges and undone merges change two. */
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
      // The public event of a deletion has no name and adds nothing.
      return 'name' in contact ? [{ ...change(contact), deleted: true }] : [];
    default:
      return [];
  }
}
