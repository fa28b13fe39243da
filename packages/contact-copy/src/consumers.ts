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

/** Consumers that keep a service's copy of contacts up to date, whatever order events come in. */
export const contactConsumer: Consumer<unknown> = {
  name: 'contacts',
  filter: { service: 'cdp', kind: 'contact.*' },
  events: [contactCreated, contactUpdated, contactMerged, contactDeleted],
  batchSize: 100,
  async take({ tx }, events) {
    await keepContacts(tx, events.flatMap(changesIn));
  },
};

/** Returns what an event says about contacts: of a merge also that one stands for the other from now on. */
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
