import type { Sql } from '@customer-platform/service-kit';

/** A deleted audience that may still have rows. Rows of contacts up to `emptied_to` are removed. */
interface DeletedAudience {
  account_id: string;
  audience_id: string;
  emptied_to: string;
}

/** Tables with rows per audience and contact; each primary key is account_id, audience_id, contact_id. */
const tables = ['audience_members', 'audience_flips', 'audience_leavers'];

/** Deletes an audience and queues the removal of its rows. The caller must have locked the audience. */
export async function deleteAudienceRow(tx: Sql, accountId: string, id: string): Promise<void> {
  await tx`
    with noted as (insert into deleted_audiences (account_id, audience_id) values (${accountId}, ${id}))
    delete from audiences where account_id = ${accountId} and id = ${id}`;
}

/** Returns and locks the deleted audience that has waited the longest. */
export async function takeDeleted(tx: Sql): Promise<DeletedAudience | undefined> {
  const [row] = await tx<DeletedAudience[]>`
    select account_id, audience_id, emptied_to from deleted_audiences order by position limit 1 for update skip locked`;
  return row;
}

/**
 * Removes at most about `limit` rows, of the next contacts in id order. Skips locked rows instead of waiting. Returns whether more contacts may
 * follow.
 */
export async function emptyNext(tx: Sql, deleted: DeletedAudience, limit: number): Promise<boolean> {
  const { account_id: accountId, audience_id: id, emptied_to: after } = deleted;
  const left = tx`account_id = ${accountId} and audience_id = ${id} and contact_id > ${after}`;
  const contactsOf = (table: string) =>
    tx`(select contact_id from ${tx(table)} where ${left} order by contact_id limit ${limit})`;
  const [last] = await tx<{ contact_id: string }[]>`
    select contact_id from (
      ${tables.map(contactsOf).reduce((all, next) => tx`${all} union all ${next}`)}
    ) as next order by contact_id offset ${limit - 1} limit 1`;
  const part = last ? tx`${left} and contact_id <= ${last.contact_id}` : left;
  for (const table of tables) {
    // The array makes the planner select the contacts first and find their rows by the primary key.
    await tx`
      delete from ${tx(table)} where account_id = ${accountId} and audience_id = ${id} and contact_id = any(array(
        select contact_id from ${tx(table)} where ${part} for update skip locked))`;
  }
  if (!last) return false;
  await tx`
    update deleted_audiences set emptied_to = ${last.contact_id}, position = default
    where account_id = ${accountId} and audience_id = ${id}`;
  return true;
}

/**
 * Removes the queue entry if the audience has no rows left; otherwise the removal starts over, behind the others. One statement checks all tables, so
 * that a row that moves between tables, such as from members to leavers, is not missed.
 */
export async function finishDeleted(tx: Sql, deleted: DeletedAudience): Promise<boolean> {
  const { account_id: accountId, audience_id: id } = deleted;
  const hasRows = (table: string) =>
    tx`exists (select from ${tx(table)} where account_id = ${accountId} and audience_id = ${id})`;
  const finished = await tx`
    delete from deleted_audiences where account_id = ${accountId} and audience_id = ${id}
      and not (${tables.map(hasRows).reduce((all, next) => tx`${all} or ${next}`)})`;
  if (finished.count > 0) return true;
  await tx`
    update deleted_audiences set emptied_to = default, position = default
    where account_id = ${accountId} and audience_id = ${id}`;
  return false;
}
