import { getContactSummary } from '@customer-platform/contracts/cdp';
import { inTransaction, type OutsideWork } from '@customer-platform/service-kit';
import { insertAskedContact } from './contacts.sql.ts';

/** Resources that learning needs: work outside of a transaction has them. */
type Learner = Pick<OutsideWork, 'sql' | 'ask'> & { account: { id: string } };

/** Asks customer data for a contact that the copy does not have, and keeps the reply. */
export function learnContact(id: string): (outside: Learner) => Promise<void> {
  return async ({ account, sql, ask }) => {
    const { contact } = await ask(getContactSummary, { contact: id });
    if (contact) await inTransaction(sql, (tx) => insertAskedContact(tx, account.id, id, contact));
  };
}
