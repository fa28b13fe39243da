import type { Sql } from '@customer-platform/service-kit';
import type { EndReason } from './outcome.ts';

/** Identifies the queue of one endpoint. */
export type QueueKey = { accountId: string; endpointId: string };

const keyColumns = (sql: Sql) => sql`account_id as "accountId", endpoint_id as "endpointId"`;

/** A crash delays deliveries by at most this time, and a lease survives two failed renewals. */
const leaseSeconds = 10;

/** Queues considered in one round. Bounds the cost of the query, not the work done. */
const maxCandidates = 1000;

export const accountsOf = (keys: readonly QueueKey[]) => keys.map((key) => key.accountId);
export const endpointsOf = (keys: readonly QueueKey[]) => keys.map((key) => key.endpointId);

/** A queue with due work at the time of the query. `version` grows with new deliveries, `endpointVersion` with changes of the endpoint. */
export type DueQueue = QueueKey & { version: number; endpointVersion: number };

/**
 * Options for claiming at most `limit` queues. `accounts` and `endpoints` are excluded. `hasClocks`: some account has a
 * sandbox clock; held queues are then due by their account's clock. `isWoken`: the look was woken, so free queues are too.
 */
interface ClaimOptions {
  limit: number;
  accounts: readonly string[];
  endpoints: readonly string[];
  hasClocks: boolean;
  isWoken: boolean;
}

/**
 * Leases at most `limit` queues that are due or whose lease has expired. Accounts take turns; excluded accounts and
 * endpoints get none. Also returns the due queues that this owner already holds.
 */
export async function takeDueQueues(
  sql: Sql,
  owner: string,
  now: Date,
  { limit, accounts, endpoints, hasClocks, isWoken }: ClaimOptions,
) {
  const isIncluded = sql`account_id <> all(${[...accounts]}::uuid[]) and endpoint_id <> all(${[...endpoints]}::uuid[])`;
  const queue = sql`${keyColumns(sql)}, version, endpoint_version as "endpointVersion"`;
  const ahead = sql`c.ahead_ms * interval '1 ms'`;
  const dueByClocks =
    hasClocks && isWoken
      ? sql`union all (
        select q.account_id, q.endpoint_id, q.due_at - ${ahead} from sandbox_clocks c join queues q on q.account_id = c.account_id
        where q.owner is null and not q.paused and q.due_at <= ${now}::timestamptz + ${ahead} and q.account_id <> all(${[...accounts]}::uuid[])
          and q.endpoint_id <> all(${[...endpoints]}::uuid[]) order by q.due_at - ${ahead} limit ${maxCandidates})`
      : sql``;
  const isDue = hasClocks
    ? sql`due_at <= ${now}::timestamptz + coalesce((select ${ahead} from sandbox_clocks c where c.account_id = queues.account_id), interval '0')`
    : sql`due_at <= ${now}`;
  return await sql<(DueQueue & { isTaken: boolean })[]>`
    with candidate as (
      select account_id, endpoint_id, due_at, row_number() over (partition by account_id order by due_at) as turn
      from (
        (select account_id, endpoint_id, due_at from queues
         where owner is null and not paused and due_at <= ${now} and ${isIncluded} order by due_at limit ${maxCandidates})
        union all
        (select account_id, endpoint_id, due_at from queues
         where owner is not null and not paused and leased_until <= now() and ${isIncluded} order by leased_until limit ${maxCandidates})
        ${dueByClocks}
      ) as free
    ), free as (
      select q.account_id, q.endpoint_id from queues q join candidate c using (account_id, endpoint_id)
      where (q.owner is null or q.leased_until <= now()) and not q.paused
      order by c.turn, c.due_at limit ${limit} for update of q skip locked
    ), taken as (
      update queues q set owner = ${owner}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      from free where q.account_id = free.account_id and q.endpoint_id = free.endpoint_id
      returning q.account_id, q.endpoint_id, q.version, q.endpoint_version
    )
    select ${queue}, true as "isTaken" from taken
    union all
    select ${queue}, false from queues where owner = ${owner} and leased_until > now() and ${isDue}`;
}

/** Stores when each queue is next due, unless its version has changed since it was read. */
export async function noteNextDue(
  sql: Sql,
  owner: string,
  queues: (QueueKey & { version: number; laterAt: Date | null })[],
) {
  await sql`
    with seen as (
      select q.account_id, q.endpoint_id, s.due_at from queues q
      join unnest(${accountsOf(queues)}::uuid[], ${endpointsOf(queues)}::uuid[],
        ${queues.map((queue) => queue.version)}::bigint[],
        ${queues.map((queue) => queue.laterAt?.toISOString() ?? 'infinity')}::text[]::timestamptz[])
        as s (account_id, endpoint_id, version, due_at) using (account_id, endpoint_id)
      where q.owner = ${owner} and q.version = s.version for update of q skip locked
    )
    update queues q set due_at = seen.due_at from seen
    where q.account_id = seen.account_id and q.endpoint_id = seen.endpoint_id`;
}

/** Renews leases, and returns the queues that this owner still holds. Skips rows that another transaction has locked. */
export async function renewLeases(sql: Sql, owner: string, queues: readonly QueueKey[]) {
  return await sql<(QueueKey & { isRenewed: boolean })[]>`
    with asked as (
      select * from unnest(${accountsOf(queues)}::uuid[], ${endpointsOf(queues)}::uuid[]) as k (account_id, endpoint_id)
    ), mine as (
      select account_id, endpoint_id from asked join queues q using (account_id, endpoint_id)
      where q.owner = ${owner} for update of q skip locked
    ), renewed as (
      update queues q set leased_until = now() + make_interval(secs => ${leaseSeconds})
      from mine where q.account_id = mine.account_id and q.endpoint_id = mine.endpoint_id
    )
    select ${keyColumns(sql)}, mine.endpoint_id is not null as "isRenewed"
    from asked join queues q using (account_id, endpoint_id) left join mine using (account_id, endpoint_id) where q.owner = ${owner}`;
}

/** Releases leases. A queue with `dueAt` has more work and goes to the end of the line. */
export async function releaseQueues(sql: Sql, owner: string, queues: (QueueKey & { dueAt: Date | null })[]) {
  await sql`
    with mine as (
      select q.account_id, q.endpoint_id, r.due_at from queues q
      join unnest(${accountsOf(queues)}::uuid[], ${endpointsOf(queues)}::uuid[],
        ${queues.map((queue) => queue.dueAt?.toISOString() ?? null)}::text[]::timestamptz[])
        as r (account_id, endpoint_id, due_at) using (account_id, endpoint_id)
      where q.owner = ${owner} order by q.account_id, q.endpoint_id for update of q
    )
    update queues q set owner = null, leased_until = null, due_at = coalesce(mine.due_at, q.due_at) from mine
    where q.account_id = mine.account_id and q.endpoint_id = mine.endpoint_id`;
}

/**
 * Marks queues as due at `dueAt`. Call it in the transaction that makes the deliveries due, before it writes them. Rows
 * are always locked in the order endpoint, queue, delivery.
 */
export async function makeDue(tx: Sql, keys: QueueKey[], dueAt: Date) {
  await tx`
    insert into queues (account_id, endpoint_id, due_at)
    select distinct account_id, endpoint_id, ${dueAt}::timestamptz
    from unnest(${accountsOf(keys)}::uuid[], ${endpointsOf(keys)}::uuid[]) as k (account_id, endpoint_id)
    order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1`;
}

/**
 * Records that an endpoint changed: its URL, secret, active or paused state, or its deletion. The process that holds the
 * queue drops its fetched deliveries and reads them again within 100 ms. While `isPaused`, no process claims the queue;
 * pass false for a disabled endpoint, or nobody would end its pending deliveries. Call it in the transaction of the change.
 */
export async function noteEndpointChanged(tx: Sql, { isPaused, ...key }: QueueKey & { isPaused: boolean }, now: Date) {
  await tx`
    insert into queues (account_id, endpoint_id, due_at, endpoint_version, paused)
    values (${key.accountId}, ${key.endpointId}, ${now}, 1, ${isPaused})
    on conflict (account_id, endpoint_id) do update set due_at = least(queues.due_at, excluded.due_at),
      version = queues.version + 1, endpoint_version = queues.endpoint_version + 1, paused = excluded.paused`;
}

/**
 * Ends at most `limit` pending deliveries of a disabled or deleted endpoint, and returns how many. A separate statement
 * locks them, because one statement for both can crash PostgreSQL 18 up to 18.4 (ADR 27).
 */
export async function endPending(tx: Sql, key: QueueKey, reason: EndReason, limit: number): Promise<number> {
  const pending = await tx<{ id: string }[]>`
    select id from deliveries
    where account_id = ${key.accountId} and endpoint_id = ${key.endpointId} and status = 'pending'
    order by next_try_at limit ${limit} for update skip locked`;
  if (pending.length === 0) return 0;
  await tx`
    update deliveries set status = 'failed', reason = ${reason}, next_try_at = null, is_manual = false
    where account_id = ${key.accountId} and id = any(${pending.map(({ id }) => id)}::uuid[])`;
  return pending.length;
}

/**
 * Deletes the queue of a deleted endpoint, unless a process holds it or deliveries are pending. Every leftover queue
 * costs a look, and thousands of one account would delay all accounts.
 */
export async function deleteFreeQueue(tx: Sql, { accountId, endpointId }: QueueKey): Promise<void> {
  await tx`
    delete from queues where account_id = ${accountId} and endpoint_id = ${endpointId} and owner is null and not exists (
      select from deliveries d where d.account_id = ${accountId} and d.endpoint_id = ${endpointId} and d.status = 'pending')`;
}

/**
 * Deletes the queue of a deleted endpoint, unless its version has changed or another process holds it. Also deletes a
 * queue that was released meanwhile, because no process would look at it again.
 */
export async function deleteQueue(sql: Sql, owner: string, queue: DueQueue) {
  await sql`
    delete from queues where account_id = ${queue.accountId} and endpoint_id = ${queue.endpointId}
      and (owner = ${owner} or owner is null) and version = ${queue.version}`;
}
