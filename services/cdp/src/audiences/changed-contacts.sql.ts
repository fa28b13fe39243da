import type { Sql } from '@customer-platform/service-kit';
import type { Target } from './membership.sql.ts';

/** The next account, in the order of ids after `after`, in which contacts changed; none of `but`. */
export async function nextChangedAccount(tx: Sql, after: string, but: string[]): Promise<string | undefined> {
  const [row] = await tx<{ account_id: string }[]>`
    select account_id from changed_contacts where account_id > ${after} and account_id <> all(${but}::uuid[])
    order by account_id limit 1`;
  return row?.account_id;
}

/** The account in which time moved a contact first that was not looked at since; none of `but`. */
export async function nextFlippedAccount(tx: Sql, now: Date, but: string[]): Promise<string | undefined> {
  const [row] = await tx<{ account_id: string }[]>`
    select account_id from audience_flips where flips_at <= ${now} and account_id <> all(${but}::uuid[])
    order by flips_at limit 1`;
  return row?.account_id;
}

/** Whether there are contacts of the account to be looked at. */
export async function hasChanged(tx: Sql, accountId: string, now: Date): Promise<boolean> {
  const [row] = await tx<{ some: boolean }[]>`
    select exists (select from changed_contacts where account_id = ${accountId})
      or exists (select from audience_flips where account_id = ${accountId} and flips_at <= ${now}) as some`;
  return row!.some;
}

/** Takes at most `limit` contacts that changed: they are gone with the commit, in which what follows from it is written. */
export async function takeChanged(tx: Sql, accountId: string, limit: number): Promise<string[]> {
  const rows = await tx<{ contact_id: string }[]>`
    delete from changed_contacts where account_id = ${accountId} and id in (
      select id from changed_contacts where account_id = ${accountId} order by id limit ${limit})
    returning contact_id`;
  return rows.map((row) => row.contact_id);
}

/** Takes at most `limit` contacts whom time can have moved, each with its audience. */
export async function takeFlips(tx: Sql, accountId: string, now: Date, limit: number) {
  return await tx<{ audience_id: string; contact_id: string }[]>`
    delete from audience_flips where account_id = ${accountId} and (audience_id, contact_id) in (
      select audience_id, contact_id from audience_flips where account_id = ${accountId} and flips_at <= ${now}
      order by flips_at limit ${limit})
    returning audience_id, contact_id`;
}

/** The audiences that are kept up to date; the others are worked out as a whole, or not at all. */
export async function selectReady(tx: Sql, accountId: string): Promise<Target[]> {
  return await tx<Target[]>`
    select id, version, rules from audiences where account_id = ${accountId} and status = 'ready' order by id`;
}
