import type { Member } from '@customer-platform/contracts/accounts';
import type { Sql } from '@customer-platform/service-kit';

/** Adds a member, or reactivates and renames the one with this address. Returns undefined if nothing changes. */
export async function upsertMember(
  tx: Sql,
  accountId: string,
  { name, email }: Pick<Member, 'name' | 'email'>,
  now: Date,
): Promise<Member | undefined> {
  const [member] = await tx<Member[]>`
    insert into members (account_id, name, email, created_at) values (${accountId}, ${name}, ${email}, ${now})
    on conflict (account_id, email) do update set name = excluded.name, active = true
      where not members.active or members.name <> excluded.name
    returning id, name, email, active`;
  return member;
}

/** Returns an active member, locked until the transaction ends. */
export async function lockMember(tx: Sql, accountId: string, id: string): Promise<Member | undefined> {
  const [member] = await tx<Member[]>`
    select id, name, email, active from members where account_id = ${accountId} and id = ${id} and active for update`;
  return member;
}

export async function deactivateMember(tx: Sql, accountId: string, id: string): Promise<void> {
  await tx`update members set active = false where account_id = ${accountId} and id = ${id}`;
}

export async function findMembersByEmail(sql: Sql, accountId: string, emails: readonly string[]): Promise<Member[]> {
  return await sql<Member[]>`
    select id, name, email, active from members where account_id = ${accountId} and email = any(${emails}::text[])`;
}

/** Lists members, newest first, after the member `after`. */
export async function selectMembers(
  sql: Sql,
  accountId: string,
  limit: number,
  after: string | undefined,
): Promise<Member[]> {
  const older = after
    ? sql`and (created_at, id) < (select created_at, id from members where account_id = ${accountId} and id = ${after})`
    : sql``;
  return await sql<Member[]>`
    select id, name, email, active from members where account_id = ${accountId} ${older}
    order by created_at desc, id desc limit ${limit}`;
}
