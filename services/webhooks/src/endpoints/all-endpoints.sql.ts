import type { AnyEndpoint, listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { dayMs, type Sql } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { lastError } from '../sending/queued-deliveries.sql.ts';

type Row = Omit<AnyEndpoint, 'failing_since' | 'last_error_at'> & {
  failing_since: Date | null;
  last_error_at: Date | null;
};

/** Maximum number of failed deliveries counted per endpoint. Deliveries created longer ago than the second value are not counted. */
const [maxFailedCounted, longestScheduleMs] = [1_000, 7 * dayMs];

/**
 * Returns endpoints of all accounts after the cursor, longest failing first; null if the cursor does not exist. With
 * `account`, includes the number of deliveries that failed in the last day.
 */
export async function selectAllEndpoints(
  sql: Sql,
  { failing, disabled_since, url, account, endpoint, after, limit }: z.output<typeof listAllEndpoints.input>,
  now: Date,
): Promise<AnyEndpoint[] | null> {
  const last = after && (await selectPlace(sql, after));
  if (after !== undefined && !last) return null;
  const isFailing = { true: sql`and failing_since is not null`, false: sql`and failing_since is null` };
  const isAfter =
    last && sql`and (coalesce(failing_since, 'infinity'), id) > (${last.since}::text::timestamptz, ${last.id}::uuid)`;
  // `updated_at` of a disabled endpoint is when the platform disabled it, or a later change by the customer.
  const isDisabled =
    disabled_since && sql`and disabled_reason is not null and updated_at >= ${new Date(disabled_since)}`;
  const rows = await sql<Row[]>`
    select e.id, e.account_id as account, e.url, e.active, e.disabled_reason, e.failing_since, last.error as last_error,
      last.at as last_error_at, last.trace_id as last_error_trace_id, (
        select count(*)::float8 from deliveries d
        where d.account_id = e.account_id and d.endpoint_id = e.id and d.status = 'pending') as pending,
      exists (
        select from queue_pauses where queue = 'deliveries' and endpoint_id = e.id) as paused,
      ${account ? countFailed(sql, now) : sql`null`} as failed_24h
    from (
      select * from endpoints where true ${failing === undefined ? sql`` : isFailing[`${failing}`]} ${isAfter ?? sql``}
        ${isDisabled ?? sql``} ${url ? sql`and strpos(lower(url), lower(${url})) > 0` : sql``}
        ${account ? sql`and account_id = ${account}` : sql``} ${endpoint ? sql`and id = ${endpoint}` : sql``}
      order by coalesce(failing_since, 'infinity'), id limit ${limit}
    ) as e left join lateral (${lastError(sql)}) as last on true
    order by coalesce(e.failing_since, 'infinity'), e.id`;
  return rows.map(({ failing_since, last_error_at, ...row }) => ({
    ...row,
    failing_since: failing_since?.toISOString() ?? null,
    last_error_at: last_error_at?.toISOString() ?? null,
  }));
}

/** Counts the deliveries of endpoint `e` that failed in the last day: created or last attempted within it. */
const countFailed = (sql: Sql, now: Date) => sql`(
  select count(*)::float8 from (
    select * from deliveries
    where account_id = e.account_id and endpoint_id = e.id and status = 'failed' and created_at > ${new Date(now.getTime() - longestScheduleMs)}
    order by created_at desc, id desc limit (select ${maxFailedCounted}::integer)
  ) as d
  -- Reads the last attempt only for deliveries older than a day.
  where case when d.created_at > ${new Date(now.getTime() - dayMs)} then true else (
    select t.at > ${new Date(now.getTime() - dayMs)} from tries t
    where t.account_id = d.account_id and t.delivery_id = d.id and t.number = d.tries_made) end)`;

/** Cursor of the list. The time is a string, because a Date drops microseconds. */
interface Place {
  since: string;
  id: string;
}

async function selectPlace(sql: Sql, id: string): Promise<Place | undefined> {
  const [row] = await sql<Place[]>`
    select coalesce(failing_since, 'infinity')::text as since, id from endpoints where id = ${id} limit 1`;
  return row;
}

/** Counts active endpoints that fail, and returns when the first began. Reads only failing endpoints, by their index. */
export async function countFailingEndpoints(sql: Sql): Promise<{ count: number; since: Date | null }> {
  const [row] = await sql<{ count: number; since: Date | null }[]>`
    select count(*)::float8 as count, min(failing_since) as since from endpoints
    where coalesce(failing_since, 'infinity') < 'infinity' and active`;
  return row!;
}
