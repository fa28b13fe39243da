import { getContactSummary } from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { toSummary } from './contact.ts';
import { findContact, selectMerged } from './contacts.sql.ts';

export const handleGetContactSummary = handleRequest(getContactSummary, async ({ sql, accountId }, { contact: id }) => {
  const contact = await findContact(sql, accountId, id);
  if (!contact || contact.id === id) return { contact: contact ? toSummary(contact) : null };
  return { contact: toSummary(contact), merged: await selectMerged(sql, accountId, id) };
});
