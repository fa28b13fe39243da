import * as contract from '@customer-platform/contracts/cdp';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { implement } from '../implement.ts';
import { toConsent } from './consent.ts';
import { isConsentOf, selectConsents } from './consents.sql.ts';

export const listConsents = implement(contract.listConsents, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id),
  async handle({ account, query, found, tx }) {
    return await readPage(query, {
      position: uuidPosition((id) => isConsentOf(tx, account.id, found.id, id)),
      rows: (after, limit) => selectConsents(tx, account.id, found.id, after, limit),
      item: (row) => toConsent(row, account.timezone),
      cursor: 'id',
    });
  },
});
