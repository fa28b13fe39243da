import * as contract from '@customer-platform/contracts/cdp';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { parsePhone, toContact } from './contact.ts';
import { findContact, selectContacts } from './contacts.sql.ts';

export const listContacts = implement(contract.listContacts, {
  handle: ({ account, query, tx }) =>
    readPage(query, {
      position: uuidPosition((id) => findContact(tx, account.id, id)),
      rows: (after, limit) => {
        const phone = query.phone === undefined ? undefined : (parsePhone(query.phone, account) ?? '');
        const filter = { ...query, phone, email: query.email?.trim().toLowerCase() };
        return selectContacts(tx, account.id, filter, { after, limit });
      },
      bytes: (row) => row.bytes,
      item: (row) => toContact(row, account),
      cursor: 'id',
    }),
});
