import * as contract from '@customer-platform/contracts/cdp';
import { email as emailAddress, firstCodePoints } from '@customer-platform/contracts/core';
import { numbersOfLine, toE164 } from '@customer-platform/phone-number';
import { handleRequest } from '@customer-platform/service-kit';
import { applyValues, toContact, toSummary } from './contact.ts';
import { type Address, findContact, findOldestByAddress, holdNewId, insertContact } from './contacts.sql.ts';
import { holdIdentities } from './identities.sql.ts';

const e164 = /^\+[1-9]\d{1,14}$/;
/** In code points, as in the API. A longer sender name is truncated. */
const maxName = 200;

/**
 * Finds or creates a contact; an existing one is not changed, even if it has no name. Throws if phone and email are both given, if phone, email and
 * `new_id` are all missing, or if an address is malformed.
 */
export const handleFindOrCreateContact = handleRequest(
  contract.findOrCreateContact,
  async ({ accountId, change }, asked) => {
    const address = addressOf(asked);
    const { known, new_id } = asked;
    return await change(async ({ tx, now, emit, findAccounts }) => {
      const account = findAccounts([accountId]).get(accountId);
      if (!account) throw new Error(`account ${accountId} does not exist`);
      await holdIdentities(tx, [accountId]);
      // With an address, its lock already serializes repeated requests.
      if (!address) await holdNewId(tx, accountId, new_id!);
      const found =
        (known !== undefined && (await findContact(tx, accountId, known))) ||
        (address && (await findOldestByAddress(tx, accountId, address))) ||
        (new_id !== undefined && (await findContact(tx, accountId, new_id)));
      if (found) return { contact: toSummary(found) };
      const given = address && { [address.column]: address.values[0] };
      // Normalizes like an HTTP request's strings, which this name did not pass through.
      const name = firstCodePoints(asked.name.normalize(), maxName);
      const values = { ...applyValues({ name }, account), ...given, id: new_id };
      const made = await insertContact(tx, account, values, now);
      emit(contract.contactCreated, account, { contact: toContact(made, account) });
      return { contact: toSummary(made) };
    });
  },
);

/**
 * Returns the given address, preferred stored form first. Only the form of a number is checked: a number that a network delivered from is valid even
 * if its country's numbering plan lacks it.
 */
function addressOf({ phone, email, new_id }: Asked): Address | undefined {
  if (phone !== undefined && email !== undefined) throw new Error('phone and email must not both be given');
  if (email !== undefined) return { column: 'email', values: [emailAddress.parse(email.normalize())] };
  if (phone === undefined && new_id === undefined) throw new Error('phone, email or new_id must be given');
  if (phone === undefined) return undefined;
  if (!e164.test(phone)) throw new Error('phone must be in E.164 format, such as +4930901820');
  return { column: 'phone', values: numbersOfLine(toE164(phone, '') ?? phone) };
}

type Asked = Partial<Record<'phone' | 'email' | 'new_id', string | undefined>>;
