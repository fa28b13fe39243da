import type { Fragment, Sql } from '@customer-platform/service-kit';

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

/** Selects the ids of the account's audiences, for deletions of a contact's rows: rows of deleted ones are removed by a job, which may have them locked. */
export const audienceIds = (tx: Sql, accountId: string) => tx`select id from audiences where account_id = ${accountId}`;
