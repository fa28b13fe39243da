import type { OwnerDepth, QueuePart } from '@customer-platform/contracts/core';
import { type Look, maxMoved, type QueueRows, type Sql } from '@customer-platform/service-kit';
import { makeDue } from './dispatch.sql.ts';

/**
 * Of the deliveries that wait after a failed attempt, makes at most `maxMoved` due now, and returns how many. Each then makes
 * its next scheduled attempt. Locks queues before deliveries, as everywhere.
 */
export async function retryDeliveries(tx: Sql, _: QueueRows, part: QueuePart, now: Date): Promise<number> {
  const { account, endpoint } = part;
  const isWaiting = tx`status = 'pending' and step > 0 and next_try_at > ${now}`;
  const waiting = await tx<{ accountId: string; endpointId: string; id: string }[]>`
    select account_id as "accountId", endpoint_id as "endpointId", id from deliveries
    where ${isWaiting} ${account ? tx`and account_id = ${account}` : tx``} ${endpoint ? tx`and endpoint_id = ${endpoint}` : tx``}
    limit ${maxMoved}`;
  if (waiting.length === 0) return 0;
  await makeDue(tx, waiting, now);
  await tx`
    update deliveries set next_try_at = ${now}
    where (account_id, id) in (
      select * from unnest(${waiting.map(({ accountId }) => accountId)}::uuid[], ${waiting.map(({ id }) => id)}::uuid[]))
      and ${isWaiting}`;
  return waiting.length;
}

interface Described {
  id: string;
  failingSince: Date | null;
  lastError: string | null;
  traceId: string | null;
}

/** Adds three details to each endpoint: when it began to fail, its last error, and the trace of that. */
export async function describeEndpoints(sql: Sql, owners: OwnerDepth[]): Promise<OwnerDepth[]> {
  const ofEndpoints = owners.filter(({ endpoint }) => endpoint !== null);
  const rows = await sql<Described[]>`
    select e.id, e.failing_since as "failingSince", last.error as "lastError", last.trace_id as "traceId"
    from unnest(${ofEndpoints.map(({ account }) => account)}::uuid[], ${ofEndpoints.map(({ endpoint }) => endpoint)}::uuid[])
      as owner (account_id, id)
    join endpoints e on e.account_id = owner.account_id and e.id = owner.id
    left join lateral (${lastError(sql)}) as last on true`;
  const known = new Map(rows.map((row) => [row.id, row]));
  return owners.map((owner) => {
    const { failingSince = null, lastError: error = null, traceId = null } = known.get(owner.endpoint ?? '') ?? {};
    return {
      ...owner,
      failingSince: failingSince?.toISOString() ?? null,
      lastError: error,
      lastErrorTraceId: traceId,
    };
  });
}

/** The trace id of event `v`; null if the trace was not recorded. */
export const traceIdOf = (sql: Sql) =>
  sql`substring(v.trace ->> 'traceparent' from '^00-([0-9a-f]{32})-[0-9a-f]{16}-01$')`;

/** Selects the last failed attempt among the pending deliveries of endpoint `e`, with its trace id if recorded. */
export const lastError = (sql: Sql) => sql`
  select coalesce(t.error, 'HTTP ' || t.status) as error, t.at, ${traceIdOf(sql)} as trace_id
  from (
    select account_id, id, event_id, tries_made from deliveries
    where account_id = e.account_id and endpoint_id = e.id and status = 'pending' and step > 0
    order by next_try_at desc limit 1
  ) as d join tries t on t.account_id = d.account_id and t.delivery_id = d.id and t.number = d.tries_made
  join events v on v.account_id = d.account_id and v.id = d.event_id
  where e.failing_since is not null`;

/** Returns whether an endpoint exists, in `account` if given. */
export async function isEndpointOf(sql: Sql, { account, endpoint }: QueuePart): Promise<boolean> {
  const found = await sql`
    select 1 from endpoints where id = ${endpoint!} ${account ? sql`and account_id = ${account}` : sql``} limit 1`;
  return found.length === 1;
}

/** Looks at the first pending delivery of each of an account's endpoints. A delivery in flight counts as due until its outcome is written. */
export const lookAtDeliveries = (sql: Sql, { account, now, endpoints }: Look) => sql`
  select coalesce(bool_or(first.at <= ${now}), false) as due, false as running, min(first.at) filter (where first.at > ${now}) as next
  from endpoints e cross join lateral (
    select d.next_try_at as at from deliveries d
    where d.account_id = e.account_id and d.endpoint_id = e.id and d.status = 'pending' order by d.next_try_at limit 1
  ) as first
  where e.account_id = ${account} and not e.paused and e.id <> all(${[...endpoints]}::uuid[])`;
