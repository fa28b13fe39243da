import { isOfScope, type Scope, type Sql } from '@customer-platform/service-kit';

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

/** Returns at most `limit` accounts with a due run, the longest due first; none of `resting`. */
export async function selectDueAccounts(
  tx: Sql,
  now: Date,
  { limit, resting, scope }: { limit: number; resting: readonly string[]; scope: Scope },
): Promise<string[]> {
  const rows = await tx<{ account_id: string }[]>`
    select account_id from duplicate_runs
    where due_at <= ${now} and account_id <> all(${[...resting]}::uuid[]) ${isOfScope(tx, scope)}
    order by due_at limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns the due run of an account. It is not locked, so that another run can be requested meanwhile. */
export async function selectDueRun(tx: Sql, accountId: string, now: Date): Promise<DueRun | undefined> {
  const [run] = await tx<DueRun[]>`
    select account_id, due_at from duplicate_runs where account_id = ${accountId} and due_at <= ${now}`;
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
