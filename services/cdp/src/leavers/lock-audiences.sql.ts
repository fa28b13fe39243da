import type { Fragment, Sql } from '@customer-platform/service-kit';

/** The table of scheduled re-evaluations. */
export const reevaluations = 'audience_flips';

/**
 * Longest wait for one audience. A refresh has those that it moves contacts in or out of for up to half a minute, and whoever merges or deletes a contact
 * keeps all writes under contacts of the account waiting meanwhile: better to have it tried again, which a lock timeout (503, Retry-After) says.
 */
const maxWaitMs = 200;

/**
 * Locks the account's audiences `which` in id order, before any change of their members, like everything that changes members, to avoid deadlocks with
 * the refresh. Throws a lock timeout where one stays locked.
 */
export async function lockAudiences(tx: Sql, accountId: string, which: Fragment): Promise<void> {
  const statements = [
    tx`select set_config('lock_timeout', ${String(maxWaitMs)}, true)`,
    tx`select from audiences where account_id = ${accountId} ${which} order by id for no key update`,
    tx`set local lock_timeout to default`,
  ];
  await Promise.all(statements.map((statement) => statement.execute()));
}

/**
 * Deletes a contact's scheduled re-evaluations, but those that a refresh has taken: it deletes them itself, and whoever waited for it would keep the
 * audiences that it needs to end. One that comes to nothing is looked at in vain later.
 */
export const dropReevaluations = (tx: Sql, accountId: string, contactId: string) => tx`
  delete from ${tx(reevaluations)} where ctid = any(array(
    select ctid from ${tx(reevaluations)}
    where account_id = ${accountId} and contact_id = ${contactId} and audience_id in (${audienceIds(tx, accountId)})
    for update skip locked))`;

/** Selects the ids of the account's audiences, for deletions of a contact's rows: rows of deleted ones are removed by a job, which may have them locked. */
export const audienceIds = (tx: Sql, accountId: string) => tx`select id from audiences where account_id = ${accountId}`;
