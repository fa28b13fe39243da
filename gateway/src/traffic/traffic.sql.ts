import type { Sql } from '@customer-platform/service-kit';
import { allAccounts, type Counted, type CountedMinute } from './traffic-counter.ts';

/** Saves the minutes of a gateway. Each replaces the gateway's stored counts of that minute. */
export async function saveMinutes(sql: Sql, instance: string, minutes: readonly CountedMinute[]): Promise<void> {
  await sql`
    insert into traffic (account_id, minute, instance, requests, s2xx, s4xx, s404, s5xx, limited, durations, codes, keys)
    select "accountId", minute, ${instance}, requests, s2xx, s4xx, s404, s5xx, limited, durations, codes, keys
    from jsonb_to_recordset(${JSON.stringify(minutes)}::text::jsonb) as m (
      "accountId" uuid, minute timestamptz, requests integer, s2xx integer, s4xx integer, s404 integer, s5xx integer, limited integer,
      durations integer[], codes jsonb, keys jsonb)
    order by 1, 2
    on conflict (account_id, minute, instance) do update set
      requests = excluded.requests, s2xx = excluded.s2xx, s4xx = excluded.s4xx, s404 = excluded.s404, s5xx = excluded.s5xx,
      limited = excluded.limited, durations = excluded.durations, codes = excluded.codes, keys = excluded.keys`;
}

/** Returns the minutes of an account since a time, oldest first, with one row per gateway that served it. */
export async function selectMinutes(sql: Sql, accountId: string, since: Date): Promise<(Counted & { minute: Date })[]> {
  return await sql`
    select minute, requests, s2xx, s4xx, s404, s5xx, limited, durations, codes, keys from traffic
    where account_id = ${accountId} and minute >= ${since} order by minute`;
}

/** The requests of an account since a time. Refused ones have a 4xx status other than 404, or the code module_off. */
interface RefusedRow {
  account: string;
  requests: number;
  refused: number;
  /** The part of `refused` with module_off, which has status 404. */
  off: number;
  /** Whether enough requests were sent, and more than the share was refused. */
  isRefused: boolean;
}

/**
 * Returns the requests since a time of accounts with more than a `share` refused, at most `limit`. The order is live
 * accounts first, then most refused. Also returns the accounts in `accounts`.
 */
export async function selectRefused(
  sql: Sql,
  since: Date,
  { accounts, share, minRequests, limit }: { accounts: string[]; share: number; minRequests: number; limit: number },
): Promise<RefusedRow[]> {
  return await sql<RefusedRow[]>`
    with counted as (
      select account_id, sum(requests)::float8 as requests,
        sum(s4xx - s404 + coalesce((codes ->> 'module_off')::integer, 0))::float8 as refused,
        sum(coalesce((codes ->> 'module_off')::integer, 0))::float8 as off
      from traffic where minute >= ${since} and account_id <> ${allAccounts} group by account_id
    ), judged as (
      select *, requests >= ${minRequests} and refused > ${share}::float8 * requests as is_refused,
        account_id = any(${accounts}::uuid[]) as is_named from counted
    )
    select account_id as account, requests, refused, off, is_refused as "isRefused"
    from judged join accounts a using (account_id) where is_refused or is_named
    order by is_named desc, a.parent_id is not null, refused desc, account_id limit ${limit + accounts.length}`;
}

/** Deletes at most `limit` minutes older than a time; returns their number. */
export async function deleteMinutes(sql: Sql, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    delete from traffic where (account_id, minute, instance) in (
      select account_id, minute, instance from traffic where minute < ${before} order by minute limit ${limit})`;
  return count;
}
