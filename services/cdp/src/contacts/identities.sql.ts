import type { Sql } from '@customer-platform/service-kit';

/**
 * Who is who in an account is one lock, and so is which of its contacts are pairs: advisory, until the transaction ends, taken
 * before any row's lock. A plain lock of the contact's row would do for one, but costs a write for each of a batch.
 */
const identities = (sql: Sql, accountId: string) => sql`hashtextextended('identities ' || ${accountId}::text, 2)`;
const pairs = (sql: Sql, accountId: string) => sql`hashtextextended('pairs ' || ${accountId}::text, 2)`;

/** No contact of these accounts is merged or deleted meanwhile: for what is written under a contact's id. */
export async function holdIdentities(tx: Sql, accountIds: readonly string[]): Promise<void> {
  await tx`
    select pg_advisory_xact_lock_shared(key) from (
      select distinct hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys`;
}

/** For a merge or a deletion: whoever holds the account's identities has ended, and its pairs change in no other way. */
export async function lockIdentities(tx: Sql, accountId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock_shared(${pairs(tx, accountId)}), pg_advisory_xact_lock(${identities(tx, accountId)})`;
}

/** For a new set of pairs: no contact of the account is merged or deleted meanwhile, and what was is seen. */
export async function lockPairs(tx: Sql, accountId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${pairs(tx, accountId)})`;
}
