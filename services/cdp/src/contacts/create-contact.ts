import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { applyValues, toContact } from './contact.ts';
import { insertContact } from './contacts.sql.ts';

export const createContact = implementer()(contract.createContact, {
  async handle({ account, body, tx, emit, now }) {
    const row = await insertContact(tx, account, applyValues(body, account), now);
    const contact = toContact(row, account);
    emit(contract.contactCreated, { contact });
    return contact;
  },
});
