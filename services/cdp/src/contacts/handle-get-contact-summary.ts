import { getContactSummary } from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { toSummary } from './contact.ts';
import { findContact } from './contacts.sql.ts';

export const handleGetContactSummary = handleRequest(getContactSummary, async ({ sql, accountId }, { contact: id }) => {
  const contact = await findContact(sql, accountId, id);
  return { contact: contact ? toSummary(contact) : null };
});
