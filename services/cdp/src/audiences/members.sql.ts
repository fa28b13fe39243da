import type { PageBounds, Sql } from '@customer-platform/service-kit';
import { keptSince } from '../leavers/leavers.sql.ts';

/** A contact in an audience. `phone` is "" if it has none. */
export interface MemberRow {
  id: string;
  name: string;
  phone: string;
  entered_at: Date;
}

/**
 * Returns a contact's position in the list, or its last one if it left within the last day; else undefined. A merged contact is found by its own last
 * position first, where its page ended. After a day, the position of the surviving contact is used.
 */
export async function selectPosition(
  tx: Sql,
  accountId: string,
  { audienceId, contactId }: { audienceId: string; contactId: string },
  now: Date,
) {
  const [row] = await tx<Pick<MemberRow, 'id' | 'entered_at'>[]>`
    with named (id, is_survivor) as (
      select ${contactId}::uuid, false
      union all
      select merged_into, true from contacts
      where account_id = ${accountId} and id = ${contactId} and merged_into is not null
    )
    select named.id, position.entered_at from named cross join lateral (
      select entered_at, false as has_left from audience_members
      where account_id = ${accountId} and audience_id = ${audienceId} and contact_id = named.id
      union all
      select entered_at, true from audience_leavers
      where account_id = ${accountId} and audience_id = ${audienceId} and contact_id = named.id and left_at > ${keptSince(now)}
    ) as position
    order by is_survivor, has_left limit 1`;
  return row;
}

/** Lists members after `after`, latest entry first. The page is limited before the join with contacts. */
export async function listMemberRows(
  tx: Sql,
  accountId: string,
  audienceId: string,
  { after, limit }: PageBounds<Pick<MemberRow, 'id' | 'entered_at'>>,
) {
  return await tx<MemberRow[]>`
    select m.contact_id as id, coalesce(c.name, '') as name, coalesce(c.phone, '') as phone, m.entered_at from (
      select account_id, contact_id, entered_at from audience_members
      where account_id = ${accountId} and audience_id = ${audienceId}
        ${after ? tx`and (entered_at, contact_id) < (${after.entered_at}, ${after.id})` : tx``}
      order by entered_at desc, contact_id desc limit ${limit}
    ) as m
    left join contacts c on c.account_id = m.account_id and c.id = m.contact_id
    order by m.entered_at desc, m.contact_id desc`;
}
