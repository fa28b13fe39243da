import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { applyValues, changedContact, toContact } from './contact.ts';
import { findOldestByExternalId, insertContact, updateContactRow } from './contacts.sql.ts';

export const putContactByExternalId = implement(contract.putContactByExternalId, {
  async handle({ account, params, body, tx, emit, now }) {
    const before = await findOldestByExternalId(tx, account.id, params.external_id);
    if (!before) {
      const values = { ...applyValues(body, account), external_id: params.external_id };
      const contact = toContact(await insertContact(tx, account, values, now), account);
      emit(contract.contactCreated, { contact });
      return contact;
    }
    const values = applyValues(body, account, before);
    const previous = changedContact(before, values);
    if (!previous) return toContact(before, account);
    const contact = toContact(await updateContactRow(tx, account.id, { ...values, id: before.id }, now), account);
    emit(contract.contactUpdated, { contact, previous });
    return contact;
  },
});
