import { isInScope, isOfAccount, type Scope, type Sql } from '@customer-platform/service-kit';
import { type AudienceRow, type Computed, columns } from './audiences.sql.ts';

/** An audience that is due for a refresh as a whole. */
export interface DueAudience extends Pick<AudienceRow, 'id' | 'version'>, Computed {
  due_at: Date;
}

/**
 * Returns accounts with due audiences in id order, starting after `after` and wrapping around. Omits paused accounts and `coolingDown`. Accounts take
 * turns, so one with many due audiences delays another by only one of them.
 */
export async function selectDueAccounts(
  tx: Sql,
  now: Date,
  { after, coolingDown, limit, scope }: { after: string; coolingDown: readonly string[]; limit: number; scope: Scope },
): Promise<string[]> {
  const rows = await tx<{ account_id: string }[]>`
    select account_id from audiences where due_at <= ${now} and account_id <> all(${[...scope.accounts, ...coolingDown]}::uuid[]) ${isInScope(tx, scope)}
    group by account_id order by account_id <= ${after}::uuid, account_id limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns the account's audience that has been due longest. */
export async function selectDueAudience(tx: Sql, accountId: string, now: Date) {
  const [row] = await tx<DueAudience[]>`
    select id, version, status, error, members, refreshed_at, due_at from audiences
    where account_id = ${accountId} and due_at <= ${now} order by due_at limit 1`;
  return row;
}

/** Returns whether more than `most` events of an account wait for the bus. */
export async function hasWaitingEvents(tx: Sql, accountId: string, most: number): Promise<boolean> {
  const [row] = await tx<[{ has_more: boolean }]>`
    select exists (
      select from (select ${accountId}::uuid as id) as account cross join lateral (
        select from outbox where ${isOfAccount(tx, 'account_id', 'account.id')} offset ${most}) as more) as has_more`;
  return row.has_more;
}

/** Restarts the 15 minutes after which waiting audiences count as stuck, since no run has begun. */
export async function beginLater(tx: Sql, accountId: string, now: Date): Promise<void> {
  await tx`
    update audiences set building_since = ${now}
    where account_id = ${accountId} and status = 'building' and due_at <= ${now} and building_since < ${now}::timestamptz - interval '1 minute'`;
}

/** Clears all due refreshes of an account. */
export async function dropDue(tx: Sql, accountId: string) {
  await tx`update audiences set due_at = null where account_id = ${accountId} and due_at is not null`;
}

/**
 * Delay of the second refresh after new rules. Changes in transactions that began before the new rules are not queued for them; a statement ends
 * after 15 s, so after 20 s all of them have ended.
 */
const afterNewRulesMs = 20_000;

/**
 * Finishes a full run for `taken` and counts the members. If another refresh was requested meanwhile, the status returns to building. The caller must
 * have locked the audience.
 */
export async function finishWhole(tx: Sql, accountId: string, taken: DueAudience, now: Date) {
  const again = tx`coalesce(due_at > ${taken.due_at}, false)`;
  const once = tx`rules_at + make_interval(secs => ${afterNewRulesMs / 1_000})`;
  const [row] = await tx<AudienceRow[]>`
    update audiences set attempts = 0, error = '',
      status = case when ${again} then 'building' else 'ready' end,
      building_since = case when ${again} then ${now}::timestamptz end,
      due_at = case when ${again} then due_at when ${once} > ${now} then ${once} end,
      members = (select count(*) from audience_members where account_id = ${accountId} and audience_id = ${taken.id})
    where account_id = ${accountId} and id = ${taken.id}
    returning ${columns(tx)}`;
  return row!;
}

/**
 * Counts a failed attempt. The first failure leads to another attempt, the second to status failed with `error`. Returns the audience and its former
 * state; undefined if its rules changed meanwhile or nothing is due.
 */
export async function countFailure(
  tx: Sql,
  accountId: string,
  { id, version, error }: Pick<AudienceRow, 'id' | 'version' | 'error'>,
  now: Date,
) {
  const [row] = await tx<(AudienceRow & { before: Pick<AudienceRow, 'status' | 'error'> })[]>`
    update audiences set attempts = attempts + 1,
      status = case when attempts > 0 then 'failed' else status end,
      error = case when attempts > 0 then ${error} else '' end,
      due_at = case when attempts = 0 then due_at end,
      building_since = case when attempts = 0 then ${now}::timestamptz end
    where account_id = ${accountId} and id = ${id} and version = ${version} and due_at is not null
    returning ${columns(tx)}, json_build_object('status', old.status, 'error', old.error) as before`;
  return row;
}

/** Returns and locks audiences that have been building since `before` or longer. */
export async function takeStuck(tx: Sql, scope: Scope, before: Date, limit: number) {
  return await tx<{ account_id: string; id: string; version: number }[]>`
    select account_id, id, version from audiences where status = 'building' and building_since <= ${before} ${isInScope(tx, scope)}
    order by building_since limit ${limit} for update skip locked`;
}
