import { contactUpdated } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { contactSummary } from './contact-summary.ts';
import { upsertContact } from './contacts.sql.ts';

export const onContactUpdated = onEvent(contactUpdated, async ({ tx }, event) => {
  await upsertContact(tx, event.account, contactSummary(event.data.contact), event.sequence);
});
