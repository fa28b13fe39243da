import { contactCreated } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { contactSummary } from './contact-summary.ts';
import { upsertContact } from './contacts.sql.ts';

export const onContactCreated = onEvent(contactCreated, async ({ tx }, event) => {
  await upsertContact(tx, event.account, contactSummary(event.data.contact), event.sequence);
});
