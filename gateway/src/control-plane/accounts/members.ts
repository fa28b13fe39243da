import { adminOperations, memberAdded, memberRemoved } from '@customer-platform/contracts/accounts';
import { fewBytes, hasRow, readPage, uuidPosition } from '@customer-platform/service-kit';
import { toContext } from '../../accounts/account-shape.ts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import {
  deactivateMember,
  findMembersByEmail,
  lockMember,
  selectMembers,
  upsertMember,
} from '../../accounts/members.sql.ts';
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

/** Lists an account's team, newest first, former members included. */
export const listMembers = implement(adminOperations.listMembers, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    return await readPage(query, {
      position: uuidPosition((id) => hasRow(tx, 'members', found.account_id, id)),
      rows: (after, limit) => selectMembers(tx, found.account_id, limit, after),
      bytes: fewBytes,
      item: (member) => member,
      cursor: 'id',
    });
  },
});

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
