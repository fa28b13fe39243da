import { AccountsLocked, isStatementTimeout, type Sql } from '@customer-platform/service-kit';

/**
 * Advisory locks of an account: identities of its contacts, look-ups that create a missing contact, and duplicate pairs. They are held until the
 * transaction ends, and taken in this order before any row lock. A row lock on the contact would suffice for one, but costs a write per contact of a
 * batch.
 */
const identities = (sql: Sql, accountId: string) => sql`hashtextextended('identities ' || ${accountId}::text, 2)`;
const lookups = (sql: Sql, accountId: string) => sql`hashtextextended('lookups ' || ${accountId}::text, 2)`;
const pairs = (sql: Sql, accountId: string) => sql`hashtextextended('pairs ' || ${accountId}::text, 2)`;

/** Prevents merges and deletions of these accounts' contacts, for writes that refer to a contact's id. */
export async function holdIdentities(tx: Sql, accountIds: readonly string[]) {
  await tx`
    select pg_advisory_xact_lock_shared(key) from (
      select distinct hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys`;
}

/** Long enough for most merges; events of other accounts wait equally long. */
const maxWaitMs = 100;

/**
 * Like `holdIdentities`, for a batch with events of many accounts. Waits at most 100 ms in total for merges and deletions. Then throws AccountsLocked
 * with the accounts that were locked initially.
 */
export async function tryHoldIdentities(tx: Sql, accountIds: readonly string[]) {
  const rows = await tx<{ id: string }[]>`
    select id from (
      select distinct id, hashtextextended('identities ' || id, 2) as key from unnest(${accountIds}::text[]) as account (id)
      order by key) as keys
    where not pg_try_advisory_xact_lock_shared(key)`;
  if (rows.length === 0) return;
  const busy = rows.map(({ id }) => id);
  // Limits the whole statement: a lock timeout would apply to each account.
  await tx`select set_config('statement_timeout', ${String(maxWaitMs)}, true)`;
  try {
    await holdIdentities(tx, busy);
  } catch (error) {
    throw isStatementTimeout(error) ? new AccountsLocked(busy, error) : error;
  }
  await tx`set local statement_timeout to default`;
}

/**
 * Takes the look-up lock with number `lock`: other transactions cannot look up the same value. Also shares the account's look-up lock, which excludes
 * batches.
 */
export async function holdLookup(tx: Sql, accountId: string, lock: string) {
  await tx`select pg_advisory_xact_lock_shared(${lookups(tx, accountId)}), pg_advisory_xact_lock(${lock}::bigint)`;
}

/**
 * Locks the look-ups of an account and holds its identities, for a batch. A batch would need up to a thousand locks for single values, and PostgreSQL
 * has room for a few thousand in total. Disables sorts for the transaction: without statistics of the account, the planner would sort all its rows
 * for each look-up.
 */
export async function lockLookups(tx: Sql, accountId: string) {
  await tx`
    select pg_advisory_xact_lock_shared(${identities(tx, accountId)}), pg_advisory_xact_lock(${lookups(tx, accountId)}),
      set_config('enable_sort', 'off', true)`;
}

/** Locks an account for a merge or a deletion. Waits for all holders of its identities, and prevents other changes of its pairs. */
export async function lockIdentities(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock_shared(${pairs(tx, accountId)}), pg_advisory_xact_lock(${identities(tx, accountId)})`;
}

/** Locks an account while its pairs are replaced. Prevents merges and deletions meanwhile, and makes earlier ones visible. */
export async function lockPairs(tx: Sql, accountId: string) {
  await tx`select pg_advisory_xact_lock(${pairs(tx, accountId)})`;
}
