import { ApiError } from '@customer-platform/contracts/core';
import type { PrefetchCall, Sql } from '@customer-platform/service-kit';
import { type KnownContact, knownContact } from './contacts.sql.ts';
import { learnContact } from './learn-contact.ts';

type NamingCall = {
  account: { id: string };
  tx: Sql;
  prefetch(work: (call: PrefetchCall) => Promise<void>): void;
};

/**
 * Returns the contact that a caller names in a body or a filter; the surviving contact, if merged. One that the copy does not have is
 * requested from customer data. Throws invalid_request, field contact, if the account has none with this id.
 */
export async function contactOfAccount({ account, tx, prefetch }: NamingCall, id: string): Promise<KnownContact> {
  const contact = await knownContact(tx, account.id, id);
  if (!contact) prefetch(learnContact(id));
  if (contact && !contact.deleted) return contact;
  throw new ApiError('invalid_request', 'contact must be the id of a contact of this account', { field: 'contact' });
}
