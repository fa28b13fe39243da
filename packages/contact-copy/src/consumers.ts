import {
  type Contact,
  contactCreated,
  contactDeleted,
  contactMerged,
  contactUpdated,
} from '@customer-platform/contracts/cdp';
import type { EventData } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import { type ContactChange, keepContacts } from './contacts.sql.ts';

/** Consumer that keeps a service's copy of contacts up to date, in whatever order events arrive. */
export const contactConsumer: Consumer<unknown> = {
  name: 'contacts',
  filter: { service: 'cdp', kind: 'contact.*' },
  events: [contactCreated, contactUpdated, contactMerged, contactDeleted],
  batchSize: 100,
  // A handler that meets a contact whose copy is not there yet asks its owner.
  gatherMs: 60,
  async take({ tx }, events) {
    await keepContacts(tx, events.flatMap(changesIn));
  },
};

/** Returns the contacts that an event changes; a merge changes both. */
function changesIn({ account, type, sequence, data }: ReceivedEvent): ContactChange[] {
  const change = ({ id, name, phone }: Pick<Contact, 'id' | 'name' | 'phone'>): ContactChange => {
    return { account_id: account, id, name, phone: phone ?? '', merged_into: null, deleted: false, sequence };
  };
  const { contact, merged } = data as EventData<typeof contactMerged>;
  switch (type) {
    case contactCreated.kind:
    case contactUpdated.kind:
      return [change(contact)];
    case contactMerged.kind:
      return [change(contact), { ...change(merged), merged_into: contact.id }];
    case contactDeleted.kind:
      return [{ ...change(contact), deleted: true }];
    default:
      return [];
  }
}
