import { adminOperations, memberRemoved } from '@customer-platform/contracts/accounts';
import { toContext } from '../accounts/account-shape.ts';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { emitFor, implement, publishEvents } from '../admin-operation.ts';
import { toMember } from './member-shape.ts';
import { deactivateMember, lockMember } from './members.sql.ts';

/** Deactivates a member; removing a former one is 404, as deleting anything twice is. */
export const removeMember = implement(adminOperations.removeMember, {
  async find({ tx, params }) {
    const member = await lockMember(tx, params.account_id, params.member_id);
    return member?.active ? member : undefined;
  },
  async handle({ tx, found, now }) {
    await deactivateMember(tx, found);
    const account = await findAccountRow(tx, found.account_id);
    const member = { ...toMember(found), active: false };
    await emitFor(tx, memberRemoved, toContext(account!), { member }, now);
    return undefined;
  },
  committed: publishEvents,
});
