import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { newValues, toContact } from './contact.ts';
import { insertContact } from './contacts.sql.ts';

export const createContact = implement(contract.createContact, {
  async handle({ account, body, tx, emit, now }) {
    const contact = toContact(await insertContact(tx, account, newValues(body, account), now), account);
    emit(contract.contactCreated, { contact });
    return contact;
  },
});
