import { adminOperations, memberAdded } from '@customer-platform/contracts/accounts';
import { toContext } from '../accounts/account-shape.ts';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { emitFor, implement, publishEvents } from '../admin-operation.ts';
import { toMember } from './member-shape.ts';
import { lockMemberByEmail, upsertMember } from './members.sql.ts';

/** Adds a team member; an existing one takes the given name, and a former one becomes active again. */
export const addMember = implement(adminOperations.addMember, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, body, now }) {
    const known = await lockMemberByEmail(tx, found.account_id, body.email);
    if (known?.active && known.name === body.name) return toMember(known);
    const member = toMember(await upsertMember(tx, found.account_id, body, now));
    await emitFor(tx, memberAdded, toContext(found), { member }, now);
    return member;
  },
  committed: publishEvents,
});
