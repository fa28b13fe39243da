import type { AccountContext } from '@customer-platform/contracts/core';
import { isInScope, type Scope, type Sql } from '@customer-platform/service-kit';

/** Longest duration of a short run, in milliseconds. */
const shortMs = 1_000;
/** After a longer run, the owner's runs cool down for this multiple of its duration, up to the limit. */
const coolDownFactor = 3;
const longestCoolDownMs = 15 * 60_000;

/** Live and sandbox accounts share an owner. */
type Owned = Pick<AccountContext, 'id' | 'owner'>;

/** A due run of an account. `due_at` identifies the request that the run fulfills. */
export interface DueRun {
  account_id: string;
  due_at: Date;
  /** When the owner's runs have cooled down, in real time; null if they are not cooling down. */
  rests_until: Date | null;
}

/** Requests a run now. If one is in progress, another follows it. */
export async function askForRun(tx: Sql, accountId: string, now: Date) {
  await tx`
    insert into duplicate_runs (account_id, due_at) values (${accountId}, ${now})
    on conflict (account_id) do update set due_at = excluded.due_at`;
}

/**
 * Returns at most `limit` accounts with a due run, longest due first, without those in `except`. With `onlyShort`, limits them to accounts whose
 * last run was short, or that are new and have at most 1,000 contacts: a contact takes less than 1 ms.
 */
export async function selectDueAccounts(
  tx: Sql,
  now: Date,
  { limit, except, scope, onlyShort }: { limit: number; except: readonly string[]; scope: Scope; onlyShort: boolean },
): Promise<string[]> {
  const expectedMs = tx`
    coalesce(took_ms, (select last from contact_numbers n where n.account_id = duplicate_runs.account_id), 0)`;
  const rows = await tx<{ account_id: string }[]>`
    select account_id from duplicate_runs
    where due_at <= ${now} and account_id <> all(${[...except]}::uuid[]) ${isInScope(tx, scope)}
      ${onlyShort ? tx`and ${expectedMs} <= ${shortMs}` : tx``}
    order by due_at limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns the due run of an account. The row is not locked, so another run can be requested meanwhile. */
export async function selectDueRun(tx: Sql, { id, owner }: Owned, now: Date): Promise<DueRun | undefined> {
  const [run] = await tx<DueRun[]>`
    select account_id, due_at, (
      select max(rests_until) from duplicate_runs where account_id = any(${[id, owner]}::uuid[]) and rests_until > ${now}
    ) as rests_until
    from duplicate_runs where account_id = ${id} and due_at <= ${now}`;
  return run;
}

/** Schedules the next run of the account, unless a run was requested since this one was claimed. */
export async function scheduleNext(tx: Sql, run: DueRun, next: Date) {
  await tx`
    update duplicate_runs set due_at = ${next} where account_id = ${run.account_id} and due_at = ${run.due_at}`;
}

/** Records the duration of an account's run, in milliseconds. */
export async function noteDuration(tx: Sql, accountId: string, tookMs: number) {
  await tx`update duplicate_runs set took_ms = ${Math.ceil(tookMs)} where account_id = ${accountId}`;
}

/** Makes all runs of the account's owner cool down if the run was long. */
export async function coolDownAfter(tx: Sql, { id, owner }: Owned, began: Date, tookMs: number) {
  if (tookMs <= shortMs) return;
  const until = new Date(began.getTime() + tookMs + Math.min(coolDownFactor * tookMs, longestCoolDownMs));
  await tx`update duplicate_runs set rests_until = ${until} where account_id = any(${[id, owner]}::uuid[])`;
}

export async function deleteRun(tx: Sql, accountId: string) {
  await tx`delete from duplicate_runs where account_id = ${accountId}`;
}
