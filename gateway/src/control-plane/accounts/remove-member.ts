import { adminOperations, memberRemoved } from '@customer-platform/contracts/accounts';
import { toContext } from '../../accounts/account-shape.ts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { deactivateMember, lockMember } from '../../accounts/members.sql.ts';
import { emitFor, implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

/** Deactivates a member; removing a former one is 404, as deleting anything twice is. */
export const removeMember = implement(adminOperations.removeMember, {
  find: ({ tx, params }) => lockMember(tx, params.account_id, params.member_id),
  async handle(call) {
    const { tx, params, found } = call;
    await deactivateMember(tx, params.account_id, found.id);
    const account = await findAccountRow(tx, params.account_id);
    const member = { ...found, active: false };
    await emitFor(call, memberRemoved, toContext(account!), { member });
    const change = { action: 'members.remove' as const, target: `members/${found.id}`, account: params.account_id };
    await recordChange(call, change, { before: found });
    return undefined;
  },
  committed: (resources) => resources.eventsCommitted(),
});
