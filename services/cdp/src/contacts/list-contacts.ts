import * as contract from '@customer-platform/contracts/cdp';
import { readChanges, readFiltered, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { phonesOfQuery, toContact } from './contact.ts';
import { findContact, hasManyOf, type ListedRow, selectContacts } from './contacts.sql.ts';

export const listContacts = implement(contract.listContacts, {
  async handle(call) {
    const { account, query, now } = call;
    const phones = query.phone === undefined ? undefined : phonesOfQuery(query.phone, account);
    const filter = { ...query, phones, email: query.email?.trim().toLowerCase() };
    // Treats tags like `q`: a rare tag is as slow to find. So is an external id of very many contacts, including merged ones.
    const { external_id, updated_since: since } = query;
    const isOfMany = external_id !== undefined && (await hasManyOf(call.tx, account.id, external_id));
    const text = query.q ?? query.tag ?? (isOfMany ? external_id : undefined);
    const filters = { text, indexed: [phones?.[0], filter.email, external_id, since] };
    const shown = {
      bytes: (row: ListedRow) => row.bytes,
      item: (row: ListedRow) => toContact(row, account),
    };
    return await readFiltered(call, 'the search of contacts', filters, (sql) =>
      since === undefined
        ? readPage(query, {
            position: uuidPosition((id) => findContact(sql, account.id, id)),
            rows: (after, limit) => selectContacts(sql, account.id, filter, { after, limit }),
            ...shown,
            cursor: 'position',
          })
        : readChanges({ sql, accountId: account.id, now, since }, query, {
            table: 'contacts',
            rows: (page) => selectContacts(sql, account.id, filter, page),
            ...shown,
          }),
    );
  },
});
