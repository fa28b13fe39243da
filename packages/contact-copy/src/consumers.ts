import {
  type Contact,
  type ContactSummary,
  contactCreated,
  contactDeleted,
  contactMerged,
  contactUpdated,
} from '@customer-platform/contracts/cdp';
import { type Consumer, onEvent } from '@customer-platform/service-kit';
import { markContactDeleted, mergeContacts, upsertContact } from './contacts.sql.ts';

const onContactCreated = onEvent(contactCreated, async ({ tx }, event) => {
  await upsertContact(tx, event.account, summaryOf(event.data.contact), event.sequence);
});

const onContactUpdated = onEvent(contactUpdated, async ({ tx }, event) => {
  await upsertContact(tx, event.account, summaryOf(event.data.contact), event.sequence);
});

const onContactDeleted = onEvent(contactDeleted, async ({ tx }, event) => {
  await markContactDeleted(tx, event.account, event.data.contact, event.sequence);
});

const onContactMerged = onEvent(contactMerged, async ({ tx }, event) => {
  const { contact, merged } = event.data;
  await mergeContacts(tx, event.account, summaryOf(contact), merged, event.sequence);
});

/** What keeps a service's copy of contacts up to date, whatever order events come in. */
export const contactConsumers: readonly Consumer<unknown>[] = [
  onContactCreated,
  onContactUpdated,
  onContactDeleted,
  onContactMerged,
];

/** What is kept of a contact; no phone is "". */
function summaryOf({ id, name, phone }: Contact): ContactSummary {
  return { id, name, phone: phone ?? '' };
}
