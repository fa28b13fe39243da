import * as contract from '@customer-platform/contracts/cdp';
import { readPage, type Sql, textSearches, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { parsePhone, toContact } from './contact.ts';
import { findContact, selectContacts } from './contacts.sql.ts';

export const listContacts = implement(contract.listContacts, {
  async handle({ account, query, tx, prefetch }) {
    const phone = query.phone === undefined ? undefined : (parsePhone(query.phone, account) ?? '');
    const filter = { ...query, phone, email: query.email?.trim().toLowerCase() };
    const read = (sql: Sql) =>
      readPage(query, {
        position: uuidPosition((id) => findContact(sql, account.id, id)),
        rows: (after, limit) => selectContacts(sql, account.id, filter, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toContact(row, account),
        cursor: 'id',
      });
    if (query.q === undefined) return await read(tx);
    return prefetch(({ onConnection, withPermit }) =>
      withPermit(textSearches, 'the search of contacts', () => onConnection(read)),
    );
  },
});
