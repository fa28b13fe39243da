import { adminOperations, memberRemoved } from '@customer-platform/contracts/accounts';
import { toContext } from '../accounts/account-shape.ts';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { emitFor, implement } from '../admin-operation.ts';
import { deactivateMember, lockMember } from './members.sql.ts';

/** Deactivates a member; removing a former one is 404, as deleting anything twice is. */
export const removeMember = implement(adminOperations.removeMember, {
  find: ({ tx, params }) => lockMember(tx, params.account_id, params.member_id),
  async handle({ tx, params, found, now }) {
    await deactivateMember(tx, params.account_id, found.id);
    const account = await findAccountRow(tx, params.account_id);
    const member = { ...found, active: false };
    await emitFor(tx, memberRemoved, toContext(account!), { member }, now);
    return undefined;
  },
  committed: (resources) => resources.eventsCommitted(),
});
