import * as contract from '@customer-platform/contracts/cdp';
import { email as emailAddress, firstCodePoints } from '@customer-platform/contracts/core';
import { handleRequest } from '@customer-platform/service-kit';
import { applyValues, toContact, toSummary } from './contact.ts';
import { findOldestByAddress, insertContact } from './contacts.sql.ts';
import { holdIdentities } from './identities.sql.ts';

const e164 = /^\+[1-9]\d{1,14}$/;
/** Code points: the limit of a name in the API; a sender's own can be longer and is cut. */
const maxName = 200;

/**
 * Finds or creates a contact; an existing one stays as it is, even without a name. Throws unless exactly one of phone
 * and email is given, in its form.
 */
export const handleFindOrCreateContact = handleRequest(
  contract.findOrCreateContact,
  async ({ accountId, change }, asked) => {
    const [column, address] = addressOf(asked);
    return await change(async ({ tx, now, emit, findAccounts }) => {
      const account = findAccounts([accountId]).get(accountId);
      if (!account) throw new Error(`there is no account ${accountId}`);
      await holdIdentities(tx, [accountId]);
      const found = await findOldestByAddress(tx, accountId, column, address);
      if (found) return { contact: toSummary(found) };
      const values = applyValues({ name: firstCodePoints(asked.name, maxName) }, account);
      const made = await insertContact(tx, account, { ...values, [column]: address }, now);
      emit(contract.contactCreated, account, { contact: toContact(made, account) });
      return { contact: toSummary(made) };
    });
  },
);

/**
 * Returns the one address that is given, in stored form. A number that a network delivered from is valid even if its
 * country's numbering plan does not have it: only its form is checked.
 */
function addressOf({ phone, email }: { phone?: string | undefined; email?: string | undefined }) {
  if ((phone === undefined) === (email === undefined)) throw new Error('exactly one of phone and email must be given');
  if (email !== undefined) return ['email', emailAddress.parse(email)] as const;
  if (!e164.test(phone!)) throw new Error('phone must be a number in E.164, such as +4930901820');
  return ['phone', phone!] as const;
}
