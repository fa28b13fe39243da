import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { toContact } from './contact.ts';
import { findContact } from './contacts.sql.ts';

export const getContact = implementer()(contract.getContact, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id),
  handle: async ({ account, found }) => toContact(found, account),
});
