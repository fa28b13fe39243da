import type { Sql } from '@customer-platform/service-kit';
import { keepLeavers } from './leavers.sql.ts';

/**
 * Takes a contact out of all audiences with the transaction `tx`: the memberships end, the counts fall. Answers the audiences that it
 * left, each of which audience.left is to be emitted for. Call it with the contact locked.
 */
export async function leaveAllAudiences(
  tx: Sql,
  accountId: string,
  contactId: string,
  now: Date,
): Promise<{ id: string; name: string }[]> {
  await lockAudiencesOf(tx, accountId, contactId);
  await tx`delete from audience_flips where account_id = ${accountId} and contact_id = ${contactId}`;
  return await tx<{ id: string; name: string }[]>`
    with gone as (
      delete from audience_members where account_id = ${accountId} and contact_id = ${contactId} returning *
    ), kept as (${keepLeavers(tx, tx`select * from gone`, now)})
    update audiences set members = members - 1
    where account_id = ${accountId} and id in (select audience_id from gone)
    returning id, name`;
}

/**
 * Locks the audiences that a contact is in, in the order of their ids: whoever changes who is in an audience does so first, so that
 * nobody waits in a ring with the refresh.
 */
export async function lockAudiencesOf(tx: Sql, accountId: string, contactId: string): Promise<void> {
  await tx`
    select from audiences where account_id = ${accountId} and id in (
      select audience_id from audience_members where account_id = ${accountId} and contact_id = ${contactId})
    order by id for no key update`;
}
