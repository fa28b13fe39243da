import type { Sql } from '@customer-platform/service-kit';

/** A contact that is in an audience; `phone` is "" where there is none. */
export interface MemberRow {
  id: string;
  name: string;
  phone: string;
  entered_at: Date;
}

/** Where a contact (of a merged one the survivor) stands in the list; undefined where it is not in the audience. */
export async function selectMember(
  tx: Sql,
  accountId: string,
  audienceId: string,
  contactId: string,
): Promise<Pick<MemberRow, 'id' | 'entered_at'> | undefined> {
  const [row] = await tx<Pick<MemberRow, 'id' | 'entered_at'>[]>`
    select contact_id as id, entered_at from audience_members
    where account_id = ${accountId} and audience_id = ${audienceId}
      and contact_id = (select coalesce(merged_into, id) from contacts where account_id = ${accountId} and id = ${contactId})`;
  return row;
}

/** Latest joiner first, after `last`. The page is cut before it meets the contacts. */
export async function listMemberRows(
  tx: Sql,
  accountId: string,
  audienceId: string,
  last: Pick<MemberRow, 'id' | 'entered_at'> | null,
  limit: number,
): Promise<MemberRow[]> {
  return await tx<MemberRow[]>`
    select m.contact_id as id, coalesce(c.name, '') as name, coalesce(c.phone, '') as phone, m.entered_at from (
      select account_id, contact_id, entered_at from audience_members
      where account_id = ${accountId} and audience_id = ${audienceId}
        ${last ? tx`and (entered_at, contact_id) < (${last.entered_at}, ${last.id})` : tx``}
      order by entered_at desc, contact_id desc limit ${limit}
    ) as m
    left join contacts c on c.account_id = m.account_id and c.id = m.contact_id
    order by m.entered_at desc, m.contact_id desc`;
}
