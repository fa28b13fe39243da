import type { Sql } from '@customer-platform/service-kit';
import { type AudienceRow, columns } from './audiences.sql.ts';

/** An audience that is to be worked out as a whole. */
export interface DueAudience extends Pick<AudienceRow, 'id' | 'version' | 'rules' | 'status'> {
  due_at: Date;
}

/** Accounts in which something is due, that which waits longest first. */
export async function selectDueAccounts(tx: Sql, now: Date, limit: number): Promise<string[]> {
  const rows = await tx<{ account_id: string }[]>`
    select account_id from audiences where due_at <= ${now} group by account_id order by min(due_at) limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** What waits longest in an account. */
export async function selectDueAudience(tx: Sql, accountId: string, now: Date): Promise<DueAudience | undefined> {
  const [row] = await tx<DueAudience[]>`
    select id, version, rules, status, due_at from audiences
    where account_id = ${accountId} and due_at <= ${now} order by due_at limit 1`;
  return row;
}

/** Nothing is due in an account any more. */
export async function dropDue(tx: Sql, accountId: string): Promise<void> {
  await tx`update audiences set due_at = null where account_id = ${accountId} and due_at is not null`;
}

/**
 * New rules are worked out once more when every change is over that began before there was an audience with them to be marked
 * for: a statement ends after 15 s.
 */
const afterNewRulesMs = 20_000;

/**
 * Says that a whole run for `taken` is over. Who asked meanwhile waits for the next: the audience is building again. Call it with
 * the audience locked; the members are counted anew.
 */
export async function finishWhole(tx: Sql, accountId: string, taken: DueAudience, now: Date): Promise<AudienceRow> {
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
 * Counts a try that failed: the first one leads to another, the second to status failed with `error`. Answers the audience;
 * undefined where its rules changed meanwhile or nothing is due any more.
 */
export async function countFailure(
  tx: Sql,
  accountId: string,
  { id, version }: Pick<AudienceRow, 'id' | 'version'>,
  error: string,
  now: Date,
): Promise<AudienceRow | undefined> {
  const [row] = await tx<AudienceRow[]>`
    update audiences set attempts = attempts + 1,
      status = case when attempts > 0 then 'failed' else status end,
      error = case when attempts > 0 then ${error} else '' end,
      due_at = case when attempts = 0 then due_at end,
      building_since = case when attempts = 0 then ${now}::timestamptz end
    where account_id = ${accountId} and id = ${id} and version = ${version} and due_at is not null
    returning ${columns(tx)}`;
  return row;
}

/** Takes audiences that are building since `before` or longer. */
export async function takeStuck(tx: Sql, before: Date, limit: number) {
  return await tx<{ account_id: string; id: string; version: number }[]>`
    select account_id, id, version from audiences where status = 'building' and building_since <= ${before}
    order by building_since limit ${limit} for update skip locked`;
}
