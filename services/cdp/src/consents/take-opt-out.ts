import type { Consent } from '@customer-platform/contracts/cdp';
import type { WorkCall } from '@customer-platform/service-kit';
import { lockLine } from '../contacts/contacts.sql.ts';
import { insertConsent, type Standing, selectStanding } from './consents.sql.ts';

/** The purpose that contacts opt out of. Service messages are not affected. */
const purpose = 'marketing';
/** A withdrawal within a minute of one from the same source is skipped: unsubscribe links may be called often. */
const repeatMs = 60_000;

/** An opt-out or opt-in of a contact. `at` is ISO 8601. */
export interface OptOut extends Pick<Consent, 'channel' | 'state' | 'at'> {
  contact: string;
  source: 'keyword' | 'unsubscribe';
}

/**
 * Records an opt-out, or an opt-in that reverses keyword opt-outs, for all contacts that share the contact's address. An opt-out concerns the
 * address, whichever contact it came from. Returns whether the statement is on record for any of them. A future `at` counts as now. The caller must
 * hold the account's identities. Waits for concurrent statements of the same contacts.
 */
export async function takeOptOut(
  { tx, nowOf }: Pick<WorkCall<unknown>, 'tx' | 'nowOf'>,
  accountId: string,
  { contact, channel, state, source, at }: OptOut,
): Promise<boolean> {
  const [given, now] = [new Date(at), nowOf(accountId)];
  const said = { channel, purpose, state, source, at: given > now ? now : given };
  let isOnRecord = false;
  for (const id of await lockLine(tx, accountId, contact, channel)) {
    const standing = await selectStanding(tx, accountId, id, said);
    const isNew = !standing.is_known && (state === 'granted' ? grants : withdraws)(standing, said.at);
    if (isNew) await insertConsent(tx, accountId, id, { ...said, created_at: now });
    isOnRecord ||= isNew || standing.is_known;
  }
  return isOnRecord;
}

function withdraws({ repeated_at }: Standing, at: Date): boolean {
  return repeated_at === null || at.getTime() > repeated_at.getTime() + repeatMs;
}

/** Only restores an earlier grant: new consent for marketing takes more than a keyword. */
function grants({ withdrawn_at, was_granted, is_by_keyword }: Standing, at: Date): boolean {
  return withdrawn_at !== null && was_granted === true && is_by_keyword === true && at > withdrawn_at;
}
