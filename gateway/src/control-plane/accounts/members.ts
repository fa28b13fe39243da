import { adminOperations } from '@customer-platform/contracts/accounts';
import { toContext } from '../../accounts/account-shape.ts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { joinTeam, leaveTeam, pageOfMembers } from '../../accounts/change-members.ts';
import { lockMember } from '../../accounts/members.sql.ts';
import { implement } from '../admin-operation.ts';

/** Adds a team member. */
export const addMember = implement(adminOperations.addMember, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async (call) => await joinTeam(call, toContext(call.found), call.body),
  committed: ({ eventsCommitted }) => eventsCommitted(),
});

/** Lists an account's team. */
export const listMembers = implement(adminOperations.listMembers, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async ({ tx, found, query }) => await pageOfMembers(tx, found.account_id, query),
});

/** Deactivates a member. Removing a former member is 404, like every repeated deletion. */
export const removeMember = implement(adminOperations.removeMember, {
  find: ({ tx, params }) => lockMember(tx, params.account_id, params.member_id),
  async handle(call) {
    const account = await findAccountRow(call.tx, call.params.account_id);
    return await leaveTeam(call, toContext(account!), call.found);
  },
  committed: ({ eventsCommitted }) => eventsCommitted(),
});
