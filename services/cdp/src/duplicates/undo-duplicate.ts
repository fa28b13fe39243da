import * as contract from '@customer-platform/contracts/cdp';
import { toContact } from '../contacts/contact.ts';
import { updateContactRow } from '../contacts/contacts.sql.ts';
import { lockIdentities } from '../contacts/identities.sql.ts';
import { implement } from '../implement.ts';
import { decideDuplicate, lockDuplicate } from './duplicates.sql.ts';
import { withoutGiven } from './given-values.ts';
import { lockContacts } from './merge.sql.ts';
import { type MergeRow, moveBack, selectMerge } from './undo.sql.ts';
import { isTooOld, undoableDays } from './undo-period.ts';

const bound = `a merge can be undone for ${undoableDays} days`;
const unrecorded = `The merge of the pair is too old to be undone, or was never recorded; ${bound}`;

export const undoDuplicate = implement(contract.undoDuplicate, {
  async find({ account, params, tx }) {
    await lockIdentities(tx, account.id);
    return await lockDuplicate(tx, account.id, params.duplicate_id);
  },
  async handle({ account, found, tx, emit, now, fail }) {
    if (found.status !== 'merged') {
      return fail('invalid_state', `The pair is ${found.status}; only a merged pair can be undone`);
    }
    const merge = await selectMerge(tx, account.id, found.id);
    if (!merge) return fail('invalid_state', unrecorded);
    if (isTooOld(merge.merged_at, now))
      return fail('invalid_state', `The pair was merged ${undoableDays} days ago or earlier; ${bound}`);
    const { id: mergeId, survivor_id: survivorId, merged_id: restoredId } = merge;
    const contacts = await lockContacts(tx, account.id, [survivorId, restoredId]);
    const survivor = contacts.find(({ id }) => id === survivorId)!;
    if (merge.later !== null || survivor.merged_into !== null) return fail('invalid_state', laterFirst(merge));
    await updateContactRow(tx, account.id, { ...withoutGiven(survivor, merge.given), id: survivorId }, now);
    await decideDuplicate(tx, account.id, found.id, 'dismissed');
    await moveBack(tx, { accountId: account.id, mergeId, survivorId, restoredId, now });
    const after = await lockContacts(tx, account.id, [survivorId, restoredId]);
    const [contact, restored] = [survivorId, restoredId].map((id) =>
      toContact(after.find((row) => row.id === id)!, account),
    );
    const merged_at = merge.merged_at.toISOString();
    emit(contract.contactRestored, { survivor: survivorId, restored: restoredId, merged_at });
    emit(contract.contactUnmerged, { contact: contact!, restored: restored! });
    return { data: [contact!, restored!] as [contract.Contact, contract.Contact] };
  },
});

function laterFirst({ later }: MergeRow): string {
  return later === null
    ? 'The surviving contact has itself been merged since, and that merge cannot be undone'
    : `One of the contacts took part in a later merge; undo the merge of pair ${later} first`;
}
