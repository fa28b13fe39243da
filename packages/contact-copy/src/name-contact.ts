import { getContactSummary } from '@customer-platform/contracts/cdp';
import { ApiError } from '@customer-platform/contracts/core';
import { inTransaction, type PrefetchCall, type Sql } from '@customer-platform/service-kit';
import { insertReply, type KnownContact, knownContact } from './contacts.sql.ts';

type Account = { account: { id: string } };
type NamingCall = Account & { tx: Sql; prefetch(work: (call: PrefetchCall) => Promise<void>, name: string): void };

/**
 * Returns the contact that a body or filter names; the surviving contact, if merged. Requests a missing contact from customer data. Throws
 * invalid_request with field `contact` if the account has none with this id.
 */
export async function contactOfAccount({ account, tx, prefetch }: NamingCall, id: string): Promise<KnownContact> {
  const contact = await knownContact(tx, account.id, id);
  if (!contact) prefetch(fetchContact(id), `contact ${id}`);
  if (contact && !contact.deleted) return contact;
  throw new ApiError('invalid_request', 'contact must be the id of a contact of this account', { field: 'contact' });
}

/** Returns prefetch work that requests a missing contact from customer data and stores the reply. */
export function fetchContact(
  id: string,
): (call: Account & Pick<PrefetchCall, 'onConnection' | 'ask'>) => Promise<void> {
  return async ({ account, onConnection, ask }) => {
    const { contact, merged = [id] } = await ask(getContactSummary, { contact: id });
    if (!contact) return;
    await onConnection((sql) => inTransaction(sql, (tx) => insertReply(tx, account.id, merged, contact)));
  };
}
