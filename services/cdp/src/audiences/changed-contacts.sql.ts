import { isOfScope, type Scope, type Sql } from '@customer-platform/service-kit';
import type { Target } from './membership.sql.ts';

/** Returns the next account, in id order after `after`, with changed contacts; none of `but`, whose rows are not read: it may have very many. */
export async function nextChangedAccount(
  tx: Sql,
  scope: Scope,
  after: string,
  but: readonly string[],
): Promise<string | undefined> {
  for (let last = after; ; ) {
    const [row] = await tx<{ account_id: string }[]>`
      select account_id from changed_contacts where account_id > ${last} ${isOfScope(tx, scope)} order by account_id limit 1`;
    if (!row || !but.includes(row.account_id)) return row?.account_id;
    last = row.account_id;
  }
}

/** Returns the account whose scheduled re-evaluation is due the longest; none of `but`. */
export async function nextAccountToReevaluate(
  tx: Sql,
  scope: Scope,
  now: Date,
  but: string[],
): Promise<string | undefined> {
  const [row] = await tx<{ account_id: string }[]>`
    select account_id from audience_flips where flips_at <= ${now} and account_id <> all(${but}::uuid[]) ${isOfScope(tx, scope)}
    order by flips_at limit 1`;
  return row?.account_id;
}

/** Returns whether the account has changed contacts or due re-evaluations. */
export async function hasChanged(tx: Sql, accountId: string, now: Date): Promise<boolean> {
  const [row] = await tx<{ some: boolean }[]>`
    select exists (select from changed_contacts where account_id = ${accountId})
      or exists (select from audience_flips where account_id = ${accountId} and flips_at <= ${now}) as some`;
  return row!.some;
}

/**
 * Deletes at most `limit` changed contacts from the queue and returns their ids; the results are written in the same
 * transaction. By their places: the planner expects few, and would read all that it picked for each.
 */
export async function takeChanged(tx: Sql, accountId: string, limit: number): Promise<string[]> {
  const rows = await tx<{ contact_id: string }[]>`
    delete from changed_contacts where ctid = any(array(
      select ctid from changed_contacts where account_id = ${accountId} order by id limit ${limit}))
    returning contact_id`;
  return rows.map((row) => row.contact_id);
}

/** Deletes at most `limit` due re-evaluations in the same way, none that others have, and returns each with its audience and contact. */
export async function takeReevaluations(tx: Sql, accountId: string, now: Date, limit: number) {
  return await tx<{ audience_id: string; contact_id: string }[]>`
    delete from audience_flips where ctid = any(array(
      select ctid from audience_flips where account_id = ${accountId} and flips_at <= ${now}
      order by flips_at limit ${limit} for update skip locked))
    returning audience_id, contact_id`;
}

/** Returns the ready audiences, which are kept up to date; the others are refreshed as a whole, or not at all. */
export async function selectReady(tx: Sql, accountId: string) {
  return await tx<Target[]>`
    select id, version from audiences where account_id = ${accountId} and status = 'ready' order by id`;
}
