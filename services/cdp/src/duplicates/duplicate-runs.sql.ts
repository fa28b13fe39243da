import type { Sql } from '@customer-platform/service-kit';

/** A due run of an account; `due_at` identifies the request that the run fulfils. */
export interface DueRun {
  account_id: string;
  due_at: Date;
}

/** Requests a run now; one that is in progress is followed by another. */
export async function askForRun(tx: Sql, accountId: string, now: Date) {
  await tx`
    insert into duplicate_runs (account_id, due_at) values (${accountId}, ${now})
    on conflict (account_id) do update set due_at = excluded.due_at`;
}

/**
 * Claims the run that has been due the longest and that no other process has, until the transaction ends; none of the
 * accounts `resting`. Its row is not locked, so that another run can be requested meanwhile.
 */
export async function claimRun(tx: Sql, now: Date, resting: readonly string[]): Promise<DueRun | undefined> {
  const [claimed] = await tx<DueRun[]>`
    with due as materialized (
      select account_id from duplicate_runs
      where due_at <= ${now} and account_id <> all(${resting}::uuid[]) order by due_at limit 20
    )
    select account_id from due
    where pg_try_advisory_xact_lock(hashtextextended('duplicate run ' || account_id, 2)) limit 1`;
  if (!claimed) return undefined;
  // Another process may have ended it between the query and the claim.
  const [run] = await tx<DueRun[]>`
    select account_id, due_at from duplicate_runs where account_id = ${claimed.account_id} and due_at <= ${now}`;
  return run;
}

/** Schedules the next run of the account, unless one was requested since the run was claimed. */
export async function endRun(tx: Sql, run: DueRun, next: Date) {
  await tx`
    update duplicate_runs set due_at = ${next} where account_id = ${run.account_id} and due_at = ${run.due_at}`;
}

export async function deleteRun(tx: Sql, accountId: string) {
  await tx`delete from duplicate_runs where account_id = ${accountId}`;
}
