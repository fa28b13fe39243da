import * as contract from '@customer-platform/contracts/cdp';
import { fewBytes, formatInstant, readPage, uuidPosition } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { implement } from '../implement.ts';
import { type ConsentRow, isConsentOf, selectConsents } from './consents.sql.ts';

export const listConsents = implement(contract.listConsents, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id),
  handle: ({ account, query, found, tx }) =>
    readPage(query, {
      position: uuidPosition((id) => isConsentOf(tx, account.id, found.id, id)),
      rows: (after, limit) => selectConsents(tx, account.id, found.id, { after, limit }),
      bytes: fewBytes,
      item: (row) => toConsent(row, account.timezone),
      cursor: 'id',
    }),
});

/** Returns a consent as the API shows it. */
export function toConsent(row: ConsentRow, timezone: string): contract.Consent {
  return { ...row, at: formatInstant(row.at, timezone), created_at: formatInstant(row.created_at, timezone) };
}
