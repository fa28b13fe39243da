import { contactDeleted } from '@customer-platform/contracts/cdp';
import { onEvent } from '@customer-platform/service-kit';
import { markContactDeleted } from './contacts.sql.ts';

export const onContactDeleted = onEvent(contactDeleted, async ({ tx }, event) => {
  await markContactDeleted(tx, event.account, event.data.contact, event.sequence);
});
