import * as contract from '@customer-platform/contracts/cdp';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { parsePhone, toContact } from './contact.ts';
import { findContact, selectContacts } from './contacts.sql.ts';

export const listContacts = implement(contract.listContacts, {
  async handle({ account, query, tx }) {
    const { limit, starting_after: after, ...filter } = query;
    if (after !== undefined && !(await findContact(tx, account.id, uuidCursor(after)))) throw badCursor();
    const phone = filter.phone === undefined ? undefined : (parsePhone(filter.phone, account) ?? '');
    const email = filter.email?.trim().toLowerCase();
    const rows = await selectContacts(tx, account.id, { ...filter, phone, email }, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toContact(row, account),
      (row) => row.id,
    );
  },
});
