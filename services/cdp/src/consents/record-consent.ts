import * as contract from '@customer-platform/contracts/cdp';
import { findContact } from '../contacts/contacts.sql.ts';
import { holdIdentities } from '../contacts/identities.sql.ts';
import { canHaveHappened } from '../contacts/latest-instant.ts';
import { implement } from '../implement.ts';
import { insertConsent } from './consents.sql.ts';
import { toConsent } from './list-consents.ts';

export const recordConsent = implement(contract.recordConsent, {
  async find({ account, params, tx }) {
    await holdIdentities(tx, [account.id]);
    return await findContact(tx, account.id, params.contact_id);
  },
  async handle({ account, body, found, tx, now, fail }) {
    const { at = now, ...said } = body;
    if (!canHaveHappened(at, now)) return fail('invalid_request', 'at must be at most 5 minutes ahead of now', 'at');
    // A client's clock that is ahead must not make this consent override the contact's next one.
    const saidAt = at > now ? now : at;
    const row = await insertConsent(tx, account.id, found.id, { ...said, at: saidAt, created_at: now });
    return toConsent(row, account.timezone);
  },
});
