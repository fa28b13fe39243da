import type { Sql } from '@customer-platform/service-kit';

export interface MemberRow {
  account_id: string;
  id: string;
  name: string;
  email: string;
  active: boolean;
  created_at: Date;
}

/** Finds a member by address and locks the row until the transaction ends. */
export async function lockMemberByEmail(tx: Sql, accountId: string, email: string): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    select * from members where account_id = ${accountId} and email = ${email} for update`;
  return row;
}

/** Adds a member, or activates the one with this address again under this name. */
export async function upsertMember(
  tx: Sql,
  accountId: string,
  member: { name: string; email: string },
  now: Date,
): Promise<MemberRow> {
  const [row] = await tx<MemberRow[]>`
    insert into members (account_id, name, email, created_at)
    values (${accountId}, ${member.name}, ${member.email}, ${now})
    on conflict (account_id, email) do update set name = excluded.name, active = true
    returning *`;
  return row!;
}

export async function lockMember(tx: Sql, accountId: string, id: string): Promise<MemberRow | undefined> {
  const [row] = await tx<MemberRow[]>`
    select * from members where account_id = ${accountId} and id = ${id} for update`;
  return row;
}

export async function deactivateMember(tx: Sql, member: MemberRow): Promise<void> {
  await tx`update members set active = false where account_id = ${member.account_id} and id = ${member.id}`;
}

export async function findMember(sql: Sql, accountId: string, id: string): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`select * from members where account_id = ${accountId} and id = ${id}`;
  return row;
}

export async function findMemberByEmail(sql: Sql, accountId: string, email: string): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`select * from members where account_id = ${accountId} and email = ${email}`;
  return row;
}

/** Lists members newest first. */
export async function selectMembers(
  sql: Sql,
  accountId: string,
  limit: number,
  after: MemberRow | undefined,
): Promise<MemberRow[]> {
  return await sql<MemberRow[]>`
    select * from members
    where account_id = ${accountId}
      ${after ? sql`and (created_at, id) < (${after.created_at}, ${after.id})` : sql``}
    order by created_at desc, id desc limit ${limit}`;
}
