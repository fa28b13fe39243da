import { getContactProfile } from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { toContact } from './contact.ts';
import { findContact } from './contacts.sql.ts';

export const handleGetContactProfile = handleRequest(getContactProfile, async ({ sql, accountId }, { contact: id }) => {
  const contact = await findContact(sql, accountId, id);
  return { contact: contact ? toContact(contact, { timezone: 'UTC' }) : null };
});
