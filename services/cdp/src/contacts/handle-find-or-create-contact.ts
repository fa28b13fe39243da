import * as contract from '@customer-platform/contracts/cdp';
import { email as emailAddress, firstCodePoints } from '@customer-platform/contracts/core';
import { numbersOfLine, toE164 } from '@customer-platform/phone-number';
import { handleRequest } from '@customer-platform/service-kit';
import { applyValues, toContact, toSummary } from './contact.ts';
import { type Address, findContact, findOldestByAddress, holdNewId, insertContact } from './contacts.sql.ts';
import { holdIdentities } from './identities.sql.ts';

const e164 = /^\+[1-9]\d{1,14}$/;
/** Code points: the limit of a name in the API; a sender's own can be longer and is cut. */
const maxName = 200;

/**
 * Finds or creates a contact; an existing one stays as it is, even without a name. Throws if both phone and email are given, or neither
 * of them and no `new_id`, or one that is not in its form.
 */
export const handleFindOrCreateContact = handleRequest(
  contract.findOrCreateContact,
  async ({ accountId, change }, asked) => {
    const address = addressOf(asked);
    const { known, new_id } = asked;
    return await change(async ({ tx, now, emit, findAccounts }) => {
      const account = findAccounts([accountId]).get(accountId);
      if (!account) throw new Error(`there is no account ${accountId}`);
      await holdIdentities(tx, [accountId]);
      // With an address its lock keeps the same request from being taken twice at once.
      if (!address) await holdNewId(tx, accountId, new_id!);
      const found =
        (known !== undefined && (await findContact(tx, accountId, known))) ||
        (address && (await findOldestByAddress(tx, accountId, address))) ||
        (new_id !== undefined && (await findContact(tx, accountId, new_id)));
      if (found) return { contact: toSummary(found) };
      const given = address && { [address.column]: address.values[0] };
      // As a request's texts are: it did not come by one.
      const name = firstCodePoints(asked.name.normalize(), maxName);
      const values = { ...applyValues({ name }, account), ...given, id: new_id };
      const made = await insertContact(tx, account, values, now);
      emit(contract.contactCreated, account, { contact: toContact(made, account) });
      return { contact: toSummary(made) };
    });
  },
);

/**
 * Returns the address that is given, its stored form first. A number that a network delivered from is valid even if its country's
 * numbering plan does not have it: only its form is checked.
 */
function addressOf({ phone, email, new_id }: Asked): Address | undefined {
  if (phone !== undefined && email !== undefined) throw new Error('phone and email must not both be given');
  if (email !== undefined) return { column: 'email', values: [emailAddress.parse(email.normalize())] };
  if (phone === undefined && new_id === undefined) throw new Error('phone, email or new_id must be given');
  if (phone === undefined) return undefined;
  if (!e164.test(phone)) throw new Error('phone must be a number in E.164, such as +4930901820');
  return { column: 'phone', values: numbersOfLine(toE164(phone, '') ?? phone) };
}

type Asked = Partial<Record<'phone' | 'email' | 'new_id', string | undefined>>;
