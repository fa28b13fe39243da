import type { Fragment, Sql } from '@customer-platform/service-kit';

/** The table of scheduled re-evaluations. */
export const reevaluations = 'audience_flips';

/**
 * Longest wait for one audience, in milliseconds. A refresh locks the audiences it changes for up to 30 s. A waiting merge or deletion blocks all
 * writes to the account's contacts, so it fails with a lock timeout (503, Retry-After) and the client retries.
 */
const maxWaitMs = 200;

/**
 * Locks the audiences selected by `which`, in id order. All code that changes members takes these locks first, which avoids deadlocks. Throws a lock
 * timeout if an audience stays locked.
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
 * Deletes a contact's scheduled re-evaluations, except those that a refresh has locked. Waiting for them could deadlock with the refresh, which
 * deletes them itself. A leftover re-evaluation finds no contact and does nothing.
 */
export const dropReevaluations = (tx: Sql, accountId: string, contactId: string) => tx`
  delete from ${tx(reevaluations)} where ctid = any(array(
    select ctid from ${tx(reevaluations)}
    where account_id = ${accountId} and contact_id = ${contactId} and audience_id in (${audienceIds(tx, accountId)})
    for update skip locked))`;

/** Selects the ids of the account's audiences. Rows of deleted audiences are left to a job, which may have them locked. */
export const audienceIds = (tx: Sql, accountId: string) => tx`select id from audiences where account_id = ${accountId}`;
