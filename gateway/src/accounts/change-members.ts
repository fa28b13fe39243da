import { type Member, type MemberInput, memberAdded, memberRemoved } from '@customer-platform/contracts/accounts';
import type { Page } from '@customer-platform/contracts/core';
import {
  type EventAccount,
  fewBytes,
  hasRow,
  outboxRow,
  readPage,
  type Sql,
  uuidPosition,
  writeOutbox,
} from '@customer-platform/service-kit';
import type { z } from 'zod';
import { type Acting, recordChange } from '../audit/record-change.ts';
import { deactivateMember, findMembersByEmail, selectMembers, upsertMember } from './members.sql.ts';

/** Adds a team member. An existing member gets the given name, and a former one becomes active again. */
export async function joinTeam(
  call: Acting,
  account: EventAccount,
  { name, email }: z.output<typeof MemberInput>,
): Promise<Member> {
  const { tx, now } = call;
  const member = await upsertMember(tx, account.id, { name, email }, now);
  if (!member) return (await findMembersByEmail(tx, account.id, [email]))[0]!;
  await writeOutbox(tx, [outboxRow(memberAdded, account, { member }, now)]);
  const changed = { action: 'members.add', target: `members/${member.id}`, account: account.id } as const;
  await recordChange(call, changed, { after: member });
  return member;
}

/** Deactivates a member, whose row must be locked and active. */
export async function leaveTeam(call: Acting, account: EventAccount, member: Member): Promise<undefined> {
  const { tx, now } = call;
  await deactivateMember(tx, account.id, member.id);
  await writeOutbox(tx, [outboxRow(memberRemoved, account, { member: { ...member, active: false } }, now)]);
  const changed = { action: 'members.remove', target: `members/${member.id}`, account: account.id } as const;
  await recordChange(call, changed, { before: member });
}

/** Lists an account's team, newest first, including former members. */
export async function pageOfMembers(
  sql: Sql,
  accountId: string,
  query: Parameters<typeof readPage>[0],
): Promise<Page<Member>> {
  return await readPage(query, {
    position: uuidPosition((id) => hasRow(sql, 'members', accountId, id)),
    rows: (after, limit) => selectMembers(sql, accountId, limit, after),
    bytes: fewBytes,
    item: (member) => member,
    cursor: 'id',
  });
}
