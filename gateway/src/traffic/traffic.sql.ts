import type { Sql } from '@customer-platform/service-kit';
import type { Counted, CountedMinute } from './traffic-counter.ts';

/** Saves the minutes of a gateway: each replaces what it had of the same minute. */
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

/** Returns the minutes of an account since a time, oldest first, one for each gateway that served it. */
export async function selectMinutes(sql: Sql, accountId: string, since: Date): Promise<(Counted & { minute: Date })[]> {
  return await sql`
    select minute, requests, s2xx, s4xx, s404, s5xx, limited, durations, codes, keys from traffic
    where account_id = ${accountId} and minute >= ${since} order by minute`;
}

/** Deletes at most `limit` minutes from before a time; returns their number. */
export async function deleteMinutes(sql: Sql, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    delete from traffic where (account_id, minute, instance) in (
      select account_id, minute, instance from traffic where minute < ${before} order by minute limit ${limit})`;
  return count;
}
