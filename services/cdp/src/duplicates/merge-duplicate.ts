import * as contract from '@customer-platform/contracts/cdp';
import { changedContact, toContact, toSummary } from '../contacts/contact.ts';
import { unitedFields, unitedTags } from '../contacts/contact-size.ts';
import { type ContactRow, type ContactValues, findContact, updateContactRow } from '../contacts/contacts.sql.ts';
import { lockIdentities } from '../contacts/identities.sql.ts';
import { implement } from '../implement.ts';
import { emitKeptMoves } from '../moves/emit-kept-moves.ts';
import { takeMovesOf } from '../moves/moves.sql.ts';
import { decidedAlready } from './duplicate.ts';
import { decideDuplicate, lockDuplicate } from './duplicates.sql.ts';
import { givenValues } from './given-values.ts';
import { hasMerged, hasMoreToMove, lockContacts, moveToSurvivor } from './merge.sql.ts';

/** Most rows that a merge moves. It is one transaction here, and one event in each other service. */
const mostMoved = { events: 100_000, consents: 100_000, merged: 1_000, pairs: 5_000 };
/** Most contacts that are merged into one. Lists filtered by contact query the rows of all of them. */
const mostMerged = 5_000;

export const mergeDuplicate = implement(contract.mergeDuplicate, {
  async find({ account, params, tx }) {
    await lockIdentities(tx, account.id);
    return await lockDuplicate(tx, account.id, params.duplicate_id);
  },
  async handle({ account, body, found, tx, emit, now, fail }) {
    const pair = [found.older_id, found.newer_id];
    const keepId = pair.includes(body.keep) ? body.keep : (await findContact(tx, account.id, body.keep))?.id;
    if (keepId === undefined || !pair.includes(keepId)) {
      return fail('invalid_request', `keep must be one of the pair: ${pair.join(' or ')}`, 'keep');
    }
    if (found.status !== 'open') return fail('invalid_state', decidedAlready(found));
    const contacts = await lockContacts(tx, account.id, pair);
    const kept = contacts.find(({ id }) => id === keepId)!;
    const merged = contacts.find(({ id }) => id !== keepId)!;
    if (await hasMoreToMove(tx, account.id, merged.id, mostMoved)) return fail('invalid_state', tooMuchToMove(merged));
    if (await hasMerged(tx, account.id, pair, mostMerged))
      return fail('invalid_state', `At most ${mostMerged} contacts can be merged into one; this would exceed that`);
    const values = united(kept, merged);
    const previous = changedContact(kept, values);
    const survivor = await updateContactRow(tx, account.id, { ...values, id: kept.id }, now);
    await decideDuplicate(tx, account.id, found.id, 'merged');
    const ids = { accountId: account.id, duplicateId: found.id, mergedId: merged.id, survivorId: kept.id };
    const left = await moveToSurvivor(tx, { ...ids, given: givenValues(kept, values), now });
    emitKeptMoves(emit, await takeMovesOf(tx, account.id, [kept.id, merged.id]), [toSummary(kept), toSummary(merged)]);
    for (const { isNew, ...audience } of left) {
      emit(contract.audienceLeft, { audience, contact: toSummary(merged) });
      if (isNew) emit(contract.audienceEntered, { audience, contact: toSummary(survivor) });
    }
    const contact = toContact(survivor, account);
    emit(contract.contactMerged, { contact, merged: toSummary(merged), ...(previous && { previous }) });
    return contact;
  },
});

function tooMuchToMove({ id }: ContactRow): string {
  const { events, merged, pairs } = mostMoved;
  return `The contact ${id} has more than ${events} events or consents, ${merged} contacts merged into it, or ${pairs} other pairs; keep it and merge the other contact into it`;
}

/**
 * Returns the kept contact's new values. It keeps its own values, takes missing ones from the other, and has the tags and fields of both as far as
 * they fit.
 */
function united(kept: ContactRow, merged: ContactRow): ContactValues {
  return {
    external_id: kept.external_id ?? merged.external_id,
    name: kept.name || merged.name,
    phone: kept.phone ?? merged.phone,
    email: kept.email ?? merged.email,
    tags: unitedTags(kept.tags, merged.tags),
    fields: unitedFields(kept.fields, merged.fields),
  };
}
