import * as contract from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { findContact } from '../contacts/contacts.sql.ts';
import { holdIdentities } from '../contacts/identities.sql.ts';
import { insertConsent, latestConsent } from './consents.sql.ts';

const purpose = 'marketing';

/** Records an opt-out or an opt-in; a repeated request changes nothing more. What the contact granted or withdrew elsewhere is not granted by a word. */
export const handleRecordOptOut = handleRequest(
  contract.recordOptOut,
  async ({ accountId, change }, { contact, channel, state, source, at }) =>
    await change(async ({ tx, now }) => {
      await holdIdentities(tx, [accountId]);
      const found = await findContact(tx, accountId, contact);
      if (!found) return { changed: false };
      const latest = await latestConsent(tx, accountId, found.id, { channel, purpose });
      if (latest?.state === state && latest.source === source) return { changed: false };
      const isOurs = latest?.state === 'withdrawn' && latest.source === 'keyword';
      if (state === 'granted' && !isOurs) return { changed: false };
      const given = new Date(at);
      const said = { channel, purpose, state, source, at: given > now ? now : given, created_at: now };
      await insertConsent(tx, accountId, found.id, said);
      return { changed: true };
    }),
);
