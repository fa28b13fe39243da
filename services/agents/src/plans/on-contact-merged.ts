import { contactMerged } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { renumberContact } from './plans.sql.ts';

/** Plans for a contact that was merged show its survivor, its number too. */
export const onContactMerged = onEvent(contactMerged, async ({ tx }, { account, data }) => {
  await renumberContact(tx, account, data.merged.id, data.contact);
});
