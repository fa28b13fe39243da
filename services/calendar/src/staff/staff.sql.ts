import type { Member } from '@customer-platform/contracts/accounts';
import type { Staff } from '@customer-platform/contracts/calendar';
import { type Fragment, readUnderLock, type Sql, withinPageBytes } from '@customer-platform/service-kit';

/** A staff profile with the member's name. `active` is the profile's own switch; `member_active` is false after the member left. */
interface StaffRow extends Staff {
  id: number;
  member_active: boolean;
}

/** The values of a staff profile. */
type Profile = Omit<Staff, 'name' | 'email'>;

/** Returns a staff profile as responses show it. It is active if switched on and its member is in the team. */
export function toStaff({ member_active, ...row }: StaffRow): Staff {
  const { name, email, active, hours, overrides, location, meeting_link } = row;
  return { name, email, active: active && member_active, hours, overrides, location, meeting_link };
}

const columns = (tx: Sql) => tx`
  s.id, m.name, s.email, s.active, m.active as member_active, s.hours, s.overrides, s.location, s.meeting_link`;

/** Returns a staff profile, or undefined if no teammate with this email takes bookings. */
export async function selectStaff(tx: Sql, accountId: string, email: string) {
  const [row] = await tx<StaffRow[]>`
    select ${columns(tx)} from staff s join members m on m.account_id = s.account_id and m.email = s.email
    where s.account_id = ${accountId} and s.email = ${email}`;
  return row;
}

/** Locks the profile against other changes, then reads it. */
export async function lockStaff(tx: Sql, accountId: string, email: string) {
  const lock = tx`select 1 from staff where account_id = ${accountId} and email = ${email} for update`;
  return await readUnderLock(lock, () => selectStaff(tx, accountId, email));
}

/** Lists at most a page of staff profiles older than `beforeId`, newest first, with their sizes in bytes. */
export async function listStaffRows(tx: Sql, accountId: string, beforeId: number | null, limit: number) {
  const page: Fragment = tx`
    select ${columns(tx)}, octet_length(s.overrides::text) + octet_length(s.hours::text) as bytes
    from staff s join members m on m.account_id = s.account_id and m.email = s.email
    where s.account_id = ${accountId} and (${beforeId}::bigint is null or s.id < ${beforeId}::bigint)
    order by s.id desc limit ${limit}`;
  return await tx<(StaffRow & { bytes: number })[]>`${withinPageBytes(tx, page, tx`id desc`)}`;
}

/** Inserts a staff profile. Returns false if the member already has one. */
export async function insertStaff(tx: Sql, accountId: string, email: string, profile: Profile): Promise<boolean> {
  const { count } = await tx`
    insert into staff ${tx({ account_id: accountId, email, ...columnsOf(tx, profile) })}
    on conflict on constraint staff_email do nothing`;
  return count === 1;
}

/** Replaces a staff profile as a whole. */
export async function updateStaffRow(tx: Sql, accountId: string, id: number, profile: Profile) {
  await tx`update staff set ${tx(columnsOf(tx, profile))} where account_id = ${accountId} and id = ${id}`;
}

function columnsOf(tx: Sql, { active, hours, overrides, location, meeting_link }: Profile) {
  return { active, hours: tx.json(hours as never), overrides: tx.json(overrides), location, meeting_link };
}

/** A member of the account's team, from the latest known event or reply of the gateway. */
type MemberCopy = Omit<Member, 'id'>;

/** Returns a member, or undefined if the copy does not have this email. */
export async function selectMember(tx: Sql, accountId: string, email: string) {
  const [row] = await tx<MemberCopy[]>`
    select email, name, active from members where account_id = ${accountId} and email = ${email}`;
  return row;
}

/** Stores the member as of the event with this sequence. An older event changes nothing. */
export async function upsertMember(tx: Sql, accountId: string, member: MemberCopy, sequence: number) {
  await tx`
    insert into members as known (account_id, email, name, active, sequence)
    values (${accountId}, ${member.email}, ${member.name}, ${member.active}, ${sequence})
    on conflict (account_id, email) do update
      set name = excluded.name, active = excluded.active, sequence = excluded.sequence
      where known.sequence < excluded.sequence`;
}
