import type { Consent } from '@customer-platform/contracts/cdp';
import type { WorkCall } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { insertConsent, type Standing, selectStanding } from './consents.sql.ts';

/** The purpose that contacts opt out of; messages of service are not affected. */
const purpose = 'marketing';
/** A withdrawal within a minute of the last one from the same source adds nothing: a link may be called very often. */
const repeatMs = 60_000;

/** An opt-out or opt-in of a contact; `at` is ISO 8601. */
export interface OptOut extends Pick<Consent, 'channel' | 'state' | 'at'> {
  contact: string;
  source: 'keyword' | 'unsubscribe';
}

/**
 * Records an opt-out, or an opt-in if keywords alone withdrew what it grants; returns whether it is on record. One that lies ahead counts as
 * said now. Call it under a hold of the account's identities. Waits for others of the same contact.
 */
export async function takeOptOut(
  { tx, nowOf }: Pick<WorkCall<unknown>, 'tx' | 'nowOf'>,
  accountId: string,
  { contact, channel, state, source, at }: OptOut,
): Promise<boolean> {
  const found = await findContact(tx, accountId, contact, 'lock');
  if (!found) return false;
  const [given, now] = [new Date(at), nowOf(accountId)];
  const said = { channel, purpose, state, source, at: given > now ? now : given };
  const standing = await selectStanding(tx, accountId, found.id, said);
  if (standing.is_known) return true;
  const isNew = state === 'granted' ? grants(standing, said.at) : withdraws(standing, said.at);
  if (isNew) await insertConsent(tx, accountId, found.id, { ...said, created_at: now });
  return isNew;
}

function withdraws({ repeated_at }: Standing, at: Date): boolean {
  return repeated_at === null || at.getTime() > repeated_at.getTime() + repeatMs;
}

/** What was never granted is not granted again: consent for marketing takes more than a word. */
function grants({ withdrawn_at, was_granted, is_by_keyword }: Standing, at: Date): boolean {
  return withdrawn_at !== null && was_granted === true && is_by_keyword === true && at > withdrawn_at;
}
