import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { applyValues, changedContact, toContact } from './contact.ts';
import { findContact, updateContactRow } from './contacts.sql.ts';

export const updateContact = implement(contract.updateContact, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id, 'lock'),
  async handle({ account, body, found, tx, emit, now }) {
    const values = applyValues(body, account, found);
    const previous = changedContact(found, values);
    if (!previous) return toContact(found, account);
    const contact = toContact(await updateContactRow(tx, account.id, { ...values, id: found.id }, now), account);
    emit(contract.contactUpdated, { contact, previous });
    return contact;
  },
});
