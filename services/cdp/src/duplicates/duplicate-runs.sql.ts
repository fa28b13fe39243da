import type { AccountContext } from '@customer-platform/contracts/core';
import { isOfScope, type Scope, type Sql } from '@customer-platform/service-kit';

/** Longest duration of a short run, in milliseconds. */
const shortMs = 1_000;
/** A longer one rests for so many times as long as it took, at most so long. */
const restFactor = 3;
const longestRestMs = 15 * 60_000;

/** Live and sandbox are one owner's. */
type Owned = Pick<AccountContext, 'id' | 'owner'>;

/** A due run of an account; `due_at` identifies the request that the run fulfils. */
export interface DueRun {
  account_id: string;
  due_at: Date;
  /** The end of the rest of its owner's runs, by the real time; null where they do not rest. */
  rests_until: Date | null;
}

/** Requests a run now; one that is in progress is followed by another. */
export async function askForRun(tx: Sql, accountId: string, now: Date) {
  await tx`
    insert into duplicate_runs (account_id, due_at) values (${accountId}, ${now})
    on conflict (account_id) do update set due_at = excluded.due_at`;
}

/**
 * Returns at most `limit` accounts with a due run, the longest due first; none of `resting`; with `onlyShort` those whose last run was short,
 * or that are new and have few contacts: one takes well below a millisecond.
 */
export async function selectDueAccounts(
  tx: Sql,
  now: Date,
  { limit, resting, scope, onlyShort }: { limit: number; resting: readonly string[]; scope: Scope; onlyShort: boolean },
): Promise<string[]> {
  const expectedMs = tx`
    coalesce(took_ms, (select last from contact_numbers n where n.account_id = duplicate_runs.account_id), 0)`;
  const rows = await tx<{ account_id: string }[]>`
    select account_id from duplicate_runs
    where due_at <= ${now} and account_id <> all(${[...resting]}::uuid[]) ${isOfScope(tx, scope)}
      ${onlyShort ? tx`and ${expectedMs} <= ${shortMs}` : tx``}
    order by due_at limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns the due run of an account. It is not locked, so that another run can be requested meanwhile. */
export async function selectDueRun(tx: Sql, { id, owner }: Owned, now: Date): Promise<DueRun | undefined> {
  const [run] = await tx<DueRun[]>`
    select account_id, due_at, (
      select max(rests_until) from duplicate_runs where account_id = any(${[id, owner]}::uuid[]) and rests_until > ${now}
    ) as rests_until
    from duplicate_runs where account_id = ${id} and due_at <= ${now}`;
  return run;
}

/** Schedules the next run of the account, unless one was requested since the run was claimed. */
export async function scheduleNext(tx: Sql, run: DueRun, next: Date) {
  await tx`
    update duplicate_runs set due_at = ${next} where account_id = ${run.account_id} and due_at = ${run.due_at}`;
}

/** Notes how long a run of the account took, in milliseconds. */
export async function noteDuration(tx: Sql, accountId: string, tookMs: number) {
  await tx`update duplicate_runs set took_ms = ${Math.ceil(tookMs)} where account_id = ${accountId}`;
}

/** Has all runs of the account's owner rest after one that began at `began` and took long; after a short one nothing rests. */
export async function restAfter(tx: Sql, { id, owner }: Owned, began: Date, tookMs: number) {
  if (tookMs <= shortMs) return;
  const until = new Date(began.getTime() + tookMs + Math.min(restFactor * tookMs, longestRestMs));
  await tx`update duplicate_runs set rests_until = ${until} where account_id = any(${[id, owner]}::uuid[])`;
}

export async function deleteRun(tx: Sql, accountId: string) {
  await tx`delete from duplicate_runs where account_id = ${accountId}`;
}
