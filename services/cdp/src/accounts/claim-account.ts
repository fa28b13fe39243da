import type { AccountContext } from '@customer-platform/contracts/core';
import type { Sql, WorkCall } from '@customer-platform/service-kit';

/** Work of accounts. At most one process at a time does the work of an account. */
export interface AccountWork {
  /** Two kinds of work with the same lock exclude each other. */
  lock: 'audiences' | 'duplicate run';
  /** Error that is logged if the account is missing. */
  missing: string;
  /** Deletes the work of a missing account. */
  drop(tx: Sql, accountId: string): Promise<unknown>;
}

/** A claimed account. `account` is undefined if it is missing; its work is then already dropped. */
export interface ClaimedAccount {
  id: string;
  account: AccountContext | undefined;
}

/** Sorts before the ids of all accounts. */
export const beforeFirst = '00000000-0000-0000-0000-000000000000';

/**
 * Claims the first candidate that no other process has claimed, until the transaction ends; undefined if there is none. The claim covers the owner's
 * live and sandbox accounts: one customer occupies at most one worker, so the other workers serve other customers.
 */
export async function claimAccount(
  { tx, log, findAccounts }: WorkCall<unknown>,
  candidates: Iterable<string> | AsyncIterable<string>,
  { lock, missing, drop }: AccountWork,
): Promise<ClaimedAccount | undefined> {
  for await (const id of candidates) {
    const account = findAccounts([id]).get(id);
    const owner = account?.owner ?? id;
    // Also lock the account itself: processes of the previous release know only that lock.
    if (!(await lockAccount(tx, lock, owner)) || (owner !== id && !(await lockAccount(tx, lock, id)))) continue;
    if (!account) {
      log.error({ account: id }, missing);
      await drop(tx, id);
    }
    return { id, account };
  }
  return undefined;
}

/** Locks the account until the transaction ends. Returns false at once if another process has the lock. */
export async function lockAccount(tx: Sql, lock: AccountWork['lock'], accountId: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${lock} ${accountId}`}, 2)) as locked`;
  return row!.locked;
}
