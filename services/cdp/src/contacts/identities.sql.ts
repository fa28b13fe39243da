import type { Sql } from '@customer-platform/service-kit';

/**
 * Locks of an account: one for the identity of its contacts, one for its duplicate pairs. Advisory, until the
 * transaction ends, taken before any row lock. A row lock of the contact would do for one, but costs a write for each
 * of a batch.
 */
const identities = (sql: Sql, accountId: string) => sql`hashtextextended('identities ' || ${accountId}::text, 2)`;
const pairs = (sql: Sql, accountId: string) => sql`hashtextextended('pairs ' || ${accountId}::text, 2)`;

/** Prevents merges and deletions of these accounts' contacts: for writes under a contact's id. */
export async function holdIdentities(tx: Sql, accountIds: readonly string[]) {
  await tx`
    select pg_advisory_xact_lock_shared(key) from (
      select distinct hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys`;
}

/**
 * Locks an account for a merge or a deletion: waits for all who hold its identities, and keeps its pairs from changing
 * otherwise.
 */
export async function lockIdentities(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock_shared(${pairs(tx, accountId)}), pg_advisory_xact_lock(${identities(tx, accountId)})`;
}

/**
 * Locks an account for a new set of pairs: no contact is merged or deleted meanwhile, and earlier merges and deletions
 * are visible.
 */
export async function lockPairs(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock(${pairs(tx, accountId)})`;
}
