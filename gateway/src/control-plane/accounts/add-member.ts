import { adminOperations, memberAdded } from '@customer-platform/contracts/accounts';
import { toContext } from '../../accounts/account-shape.ts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { findMembersByEmail, upsertMember } from '../../accounts/members.sql.ts';
import { emitFor, implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

/** Adds a team member; an existing one takes the given name, and a former one becomes active again. */
export const addMember = implement(adminOperations.addMember, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle(call) {
    const { tx, found, body, now } = call;
    const member = await upsertMember(tx, found.account_id, body, now);
    if (!member) return (await findMembersByEmail(tx, found.account_id, [body.email]))[0]!;
    await emitFor(call, memberAdded, toContext(found), { member });
    const change = { action: 'members.add' as const, target: `members/${member.id}`, account: found.account_id };
    await recordChange(call, change, { after: member });
    return member;
  },
  committed: (resources) => resources.eventsCommitted(),
});
