import type { Sql } from '@customer-platform/service-kit';
import { keepLeavers } from './leavers.sql.ts';
import { audienceIds, dropReevaluations, lockAudiences, reevaluations } from './lock-audiences.sql.ts';

/**
 * Removes a contact from all audiences and lowers their member counts. Returns the audiences it left; the caller must emit audience.left for each.
 * Throws a lock timeout if an audience stays locked. The caller must have locked the contact.
 */
export async function leaveAllAudiences(tx: Sql, accountId: string, contactId: string, now: Date) {
  await lockAudiencesOf(tx, accountId, contactId);
  const existing = audienceIds(tx, accountId);
  await dropReevaluations(tx, accountId, contactId);
  return await tx<{ id: string; name: string }[]>`
    with gone as (
      delete from audience_members where account_id = ${accountId} and contact_id = ${contactId} and audience_id in (${existing})
      returning *
    ), kept as (${keepLeavers(tx, tx`select * from gone`, now)})
    update audiences set members = members - 1
    where account_id = ${accountId} and id in (select audience_id from gone)
    returning id, name`;
}

/** Locks the audiences that contain a contact or are due to re-evaluate it. */
async function lockAudiencesOf(tx: Sql, accountId: string, contactId: string): Promise<void> {
  const which = tx`
    and id in (
      select audience_id from audience_members where account_id = ${accountId} and contact_id = ${contactId}
      union all select audience_id from ${tx(reevaluations)} where account_id = ${accountId} and contact_id = ${contactId})`;
  await lockAudiences(tx, accountId, which);
}
