import * as contract from '@customer-platform/contracts/cdp';
import { implement } from '../implement.ts';
import { leaveAllAudiences } from '../leavers/leave-all-audiences.ts';
import { emitKeptMoves } from '../moves/emit-kept-moves.ts';
import { takeMovesOf } from '../moves/moves.sql.ts';
import { toSummary } from './contact.ts';
import { deleteContactRow, findContact } from './contacts.sql.ts';
import { lockIdentities } from './identities.sql.ts';

export const deleteContact = implement(contract.deleteContact, {
  async find({ account, params, tx }) {
    await lockIdentities(tx, account.id);
    return await findContact(tx, account.id, params.contact_id, 'lock');
  },
  async handle({ account, found, tx, emit, now }) {
    const left = await leaveAllAudiences(tx, account.id, found.id, now);
    const kept = await takeMovesOf(tx, account.id, [found.id]);
    await deleteContactRow(tx, account.id, found.id);
    emitKeptMoves(emit, kept, [toSummary(found)]);
    for (const audience of left) emit(contract.audienceLeft, { audience, contact: toSummary(found) });
    const { id, number, external_id } = found;
    emit(contract.contactDeleted, { contact: { id, number, external_id } });
    emit(contract.contactForgotten, { contact: toSummary(found) });
    return undefined;
  },
});
