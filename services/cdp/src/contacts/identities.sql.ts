import { AccountsLocked, isStatementTimeout, type Sql } from '@customer-platform/service-kit';

/**
 * Locks of an account: one for the identity of its contacts, one for look-ups that create a contact where they find none, one for its
 * duplicate pairs. Advisory, until the transaction ends, taken in this order and before any row lock. A row lock of the contact would do
 * for one, but costs a write for each of a batch.
 */
const identities = (sql: Sql, accountId: string) => sql`hashtextextended('identities ' || ${accountId}::text, 2)`;
const lookups = (sql: Sql, accountId: string) => sql`hashtextextended('lookups ' || ${accountId}::text, 2)`;
const pairs = (sql: Sql, accountId: string) => sql`hashtextextended('pairs ' || ${accountId}::text, 2)`;

/** Prevents merges and deletions of these accounts' contacts: for writes under a contact's id. */
export async function holdIdentities(tx: Sql, accountIds: readonly string[]) {
  await tx`
    select pg_advisory_xact_lock_shared(key) from (
      select distinct hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys`;
}

/** Enough for most merges; everybody else's events wait as long. */
const maxWaitMs = 100;

/**
 * The same for a batch of many accounts' events: waits 100 ms at most in all for merges and deletions, then throws
 * AccountsLocked with the accounts that still had one when it began to wait.
 */
export async function tryHoldIdentities(tx: Sql, accountIds: readonly string[]) {
  const rows = await tx<{ id: string }[]>`
    select id from (
      select distinct id, hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys
    where not pg_try_advisory_xact_lock_shared(key)`;
  if (rows.length === 0) return;
  const busy = rows.map(({ id }) => id);
  // Bounds the whole statement: a lock timeout would count for each account.
  await tx`select set_config('statement_timeout', ${String(maxWaitMs)}, true)`;
  try {
    await holdIdentities(tx, busy);
  } catch (error) {
    throw isStatementTimeout(error) ? new AccountsLocked(busy, error) : error;
  }
  await tx`set local statement_timeout to default`;
}

/**
 * Holds look-ups of an account for one that creates a contact, and locks what it looks for, by its number: no other one looks up the same, and no
 * batch anything.
 */
export async function holdLookup(tx: Sql, accountId: string, lock: string) {
  await tx`select pg_advisory_xact_lock_shared(${lookups(tx, accountId)}), pg_advisory_xact_lock(${lock}::bigint)`;
}

/**
 * Locks the look-ups of an account and holds its identities, for a batch: a lock for each thing that it looks for would be a thousand, and
 * PostgreSQL has room for some thousand in all. From then on the transaction is planned without sorts where an index has the order: of an account that
 * PostgreSQL has not analyzed yet it expects one row, and would read and sort all of them for each look-up.
 */
export async function lockLookups(tx: Sql, accountId: string) {
  await tx`
    select pg_advisory_xact_lock_shared(${identities(tx, accountId)}), pg_advisory_xact_lock(${lookups(tx, accountId)}),
      set_config('enable_sort', 'off', true)`;
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
