import { getContactSummary } from '@customer-platform/contracts/cdp';
import { inTransaction, type PrefetchCall } from '@customer-platform/service-kit';
import { insertAskedContact } from './contacts.sql.ts';

/** Part of a prefetch call that is needed here. */
type Learner = Pick<PrefetchCall, 'sql' | 'ask'> & { account: { id: string } };

/** Returns prefetch work that requests a missing contact from customer data and stores the reply. */
export function learnContact(id: string): (call: Learner) => Promise<void> {
  return async ({ account, sql, ask }) => {
    const { contact } = await ask(getContactSummary, { contact: id });
    if (contact) await inTransaction(sql, (tx) => insertAskedContact(tx, account.id, id, contact));
  };
}
