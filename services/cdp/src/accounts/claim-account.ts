import type { AccountContext } from '@customer-platform/contracts/core';
import type { Sql, WorkCall } from '@customer-platform/service-kit';

/** Work of accounts; one process at a time does that of an account. */
export interface AccountWork {
  /** Work with the same lock excludes each other. */
  lock: 'audiences' | 'duplicate run';
  /** Error that is logged for work whose account is missing. */
  missing: string;
  /** Deletes the work of a missing account. */
  drop(tx: Sql, accountId: string): Promise<unknown>;
}

/** A claimed account; `account` is undefined if it is missing, and its work has been dropped. */
export interface ClaimedAccount {
  id: string;
  account: AccountContext | undefined;
}

/** Before the ids of all accounts. */
export const beforeFirst = '00000000-0000-0000-0000-000000000000';

/**
 * Claims the first of these accounts that nobody else has, until the transaction ends; with it, its owner's other account: however long a
 * customer's work takes, live and in the sandbox, it has one worker, and the others are left to everybody else. Returns undefined if there
 * is none.
 */
export async function claimAccount(
  { tx, log, findAccounts }: WorkCall<unknown>,
  candidates: Iterable<string> | AsyncIterable<string>,
  { lock, missing, drop }: AccountWork,
): Promise<ClaimedAccount | undefined> {
  for await (const id of candidates) {
    const account = findAccounts([id]).get(id);
    const owner = account?.owner ?? id;
    // Its own lock, too: processes of the release before know no other.
    if (!(await lockAccount(tx, lock, owner)) || (owner !== id && !(await lockAccount(tx, lock, id)))) continue;
    if (!account) {
      log.error({ account: id }, missing);
      await drop(tx, id);
    }
    return { id, account };
  }
  return undefined;
}

/** Locks the account for this transaction. Returns false at once if another has it. */
export async function lockAccount(tx: Sql, lock: AccountWork['lock'], accountId: string): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${lock} ${accountId}`}, 2)) as locked`;
  return row!.locked;
}
