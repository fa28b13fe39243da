import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { toSummary } from './contact.ts';
import { deleteContactRow, findContact } from './contacts.sql.ts';

export const deleteContact = implementer()(contract.deleteContact, {
  find: ({ account, params, tx }) => findContact(tx, account.id, params.contact_id, 'lock'),
  async handle({ account, found, tx, emit }) {
    await deleteContactRow(tx, account.id, found.id);
    emit(contract.contactDeleted, { contact: toSummary(found) });
    return undefined;
  },
});
