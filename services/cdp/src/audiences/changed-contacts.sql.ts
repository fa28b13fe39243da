import { type Fragment, isInScope, type Scope, type Sql, type WatchedRows } from '@customer-platform/service-kit';
import { beforeFirst } from '../accounts/claim-account.ts';
import type { Target } from './membership.sql.ts';

/** Accounts that a round by the real time may take: in id order, starting after `after`, without those in `but`. */
interface Round {
  scope: Scope;
  after: string;
  but: readonly string[];
}

const afterLast = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Due re-evaluations that are read before the search switches to one account after another. */
const maxScanned = 200;

/** Returns the next account with changed contacts. */
export async function nextChangedAccount(tx: Sql, round: Round): Promise<string | undefined> {
  return await nextAccount(tx, { name: 'changed_contacts', due: null }, round, new Date(0));
}

/** Returns the account with the oldest due re-evaluation. If 200 are due, all may belong to excluded accounts, so the next account is returned. */
export async function nextAccountToReevaluate(tx: Sql, round: Round, now: Date): Promise<string | undefined> {
  const [found] = await tx<[{ account_id: string | null; is_full: boolean }]>`
    with due as materialized (
      select account_id, flips_at from audience_flips where flips_at <= ${now} order by flips_at limit ${maxScanned}
    )
    select count(*) = ${maxScanned} as is_full, (
      select account_id from due where account_id <> all(${[...round.but]}::uuid[]) ${isInScope(tx, round.scope)}
      order by flips_at limit 1) as account_id
    from due`;
  if (!found.is_full) return found.account_id ?? undefined;
  return await nextAccount(tx, { name: 'audience_flips', due: 'flips_at' }, round, now);
}

/**
 * Returns the next account with due rows. A recursive query jumps from account to account by the index. An excluded account (busy, or with a clock of
 * its own) may have very many rows, but costs one read.
 */
async function nextAccount(
  tx: Sql,
  { name, due }: WatchedRows,
  { scope, after, but }: Round,
  now: Date,
): Promise<string | undefined> {
  const isDue = due
    ? tx`exists (select from ${tx(name)} as t where t.account_id = first.account_id and t.${tx(due)} <= ${now})`
    : tx`true`;
  const next = (from: Fragment, until: string) => tx`
    select first.account_id,
      ${isDue} and first.account_id <> all(${[...but]}::uuid[]) ${isInScope(tx, scope, tx`first.account_id`)} as is_next
    from (
      select account_id from ${tx(name)} where account_id > ${from} and account_id <= ${until} order by account_id limit 1) as first`;
  const within = async (start: string, end: string) => {
    const [row] = await tx<{ account_id: string }[]>`
      with recursive accounts as (
        select n.* from (${next(tx`${start}::uuid`, end)}) as n
        union all
        select n.* from accounts a cross join lateral (${next(tx`a.account_id`, end)}) as n where not a.is_next
      )
      select account_id from accounts where is_next`;
    return row?.account_id;
  };
  return (await within(after, afterLast)) ?? (await within(beforeFirst, after));
}

/** Returns whether the account has changed contacts or due re-evaluations. */
export async function hasChanged(tx: Sql, accountId: string, now: Date): Promise<boolean> {
  const [row] = await tx<{ some: boolean }[]>`
    select exists (select from changed_contacts where account_id = ${accountId})
      or exists (select from audience_flips where account_id = ${accountId} and flips_at <= ${now}) as some`;
  return row!.some;
}

/** Queued rows that are searched for further changes of the same contacts. */
const mostAlike = 10_000;

/**
 * Deletes at most `limit` changed contacts from the queue, with their next rows; returns each id once. Their refresh must commit with it. Deletes by
 * ctid: the planner underestimates the rows and would rescan all picked ones for each.
 */
export async function takeChanged(tx: Sql, accountId: string, limit: number): Promise<string[]> {
  const rows = await tx<{ contact_id: string }[]>`
    with next as materialized (
      select ctid as place, contact_id, id from changed_contacts where account_id = ${accountId}
      order by id limit ${Math.max(limit, mostAlike)}
    ), picked as (
      select contact_id from next group by contact_id order by min(id) limit ${limit}
    )
    delete from changed_contacts where ctid = any(array(
      select place from next where contact_id in (select contact_id from picked)))
    returning contact_id`;
  return [...new Set(rows.map((row) => row.contact_id))];
}

/** Deletes at most `limit` due re-evaluations that are not locked; returns the audience and contact of each. */
export async function takeReevaluations(tx: Sql, accountId: string, now: Date, limit: number) {
  return await tx<{ audience_id: string; contact_id: string }[]>`
    delete from audience_flips where ctid = any(array(
      select ctid from audience_flips where account_id = ${accountId} and flips_at <= ${now}
      order by flips_at limit ${limit} for update skip locked))
    returning audience_id, contact_id`;
}

/** Returns the ready audiences, which are updated with each change; others are refreshed as a whole or not at all. */
export async function selectReady(tx: Sql, accountId: string) {
  return await tx<Target[]>`
    select id, version from audiences where account_id = ${accountId} and status = 'ready' order by id`;
}
