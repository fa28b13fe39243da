import { getContactSummary } from '@customer-platform/contracts/cdp';
import { answerRequest } from '@customer-platform/service-kit';
import { toSummary } from './contact.ts';
import { findContact } from './contacts.sql.ts';

export const answerGetContactSummary = answerRequest(getContactSummary, async ({ sql, accountId }, { contact: id }) => {
  const named = await findContact(sql, accountId, id);
  const contact = named?.merged_into ? await findContact(sql, accountId, named.merged_into) : named;
  return { contact: contact ? toSummary(contact) : null };
});
