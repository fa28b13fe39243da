import * as contract from '@customer-platform/contracts/cdp';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { implement } from '../implement.ts';
import { toConsent } from './consent.ts';
import { isConsentOf, selectConsents } from './consents.sql.ts';

export const listConsents = implement(contract.listConsents, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id),
  async handle({ account, query, found, tx }) {
    const { limit, starting_after: cursor } = query;
    const after = cursor === undefined ? undefined : uuidCursor(cursor);
    if (after !== undefined && !(await isConsentOf(tx, account.id, found.id, after))) throw badCursor();
    const rows = await selectConsents(tx, account.id, found.id, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toConsent(row, account.timezone),
      (row) => row.id,
    );
  },
});
