import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { toContact } from './contact.ts';
import { findContact } from './contacts.sql.ts';

export const getContact = implement(contract.getContact, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id),
  handle: async ({ account, found }) => toContact(found, account),
});
