import { getContactSummary } from '@customer-platform/contracts/cdp';
import { inTransaction, type PrefetchCall } from '@customer-platform/service-kit';
import { insertAskedContact } from './contacts.sql.ts';

/** Resources that learning needs; a prefetch has them. */
type Learner = Pick<PrefetchCall, 'sql' | 'ask'> & { account: { id: string } };

/** Asks customer data for a contact that the copy does not have, and keeps the reply. */
export function learnContact(id: string): (call: Learner) => Promise<void> {
  return async ({ account, sql, ask }) => {
    const { contact } = await ask(getContactSummary, { contact: id });
    if (contact) await inTransaction(sql, (tx) => insertAskedContact(tx, account.id, id, contact));
  };
}
