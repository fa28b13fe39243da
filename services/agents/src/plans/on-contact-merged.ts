import { contactMerged } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { renumberContact } from './plans.sql.ts';

/** Gives the plans of a merged contact the surviving contact's number. */
export const onContactMerged = onEvent(contactMerged, async ({ tx }, { account, data }) => {
  await renumberContact(tx, account, data.merged.id, data.contact);
});
