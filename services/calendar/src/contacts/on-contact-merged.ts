import { contactMerged } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { contactSummary } from './contact-summary.ts';
import { mergeContacts } from './contacts.sql.ts';

export const onContactMerged = onEvent(contactMerged, async ({ tx }, event) => {
  const { contact, merged } = event.data;
  await mergeContacts(tx, event.account, contactSummary(contact), merged, event.sequence);
});
