import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { applyValues, toContact } from './contact.ts';
import { insertContact } from './contacts.sql.ts';

export const createContact = implement(contract.createContact, {
  async handle({ account, body, tx, emit, now }) {
    const row = await insertContact(tx, account, applyValues(body, account), now);
    const contact = toContact(row, account);
    emit(contract.contactCreated, { contact });
    return contact;
  },
});
