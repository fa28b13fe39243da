import type { Sql } from '@customer-platform/service-kit';
import type { EndReason } from './outcome.ts';

/** Names the queue of one endpoint. */
export type QueueKey = { accountId: string; endpointId: string };

const keyColumns = (sql: Sql) => sql`account_id as "accountId", endpoint_id as "endpointId"`;

/** Short enough for a crash to delay little, long enough for a renewal to fail twice. */
const leaseSeconds = 10;

/** Queues looked at in one round of taking: bounds the statement, not the work. */
const maxCandidates = 1000;

export const accountsOf = (keys: readonly QueueKey[]) => keys.map((key) => key.accountId);
export const endpointsOf = (keys: readonly QueueKey[]) => keys.map((key) => key.endpointId);

/** A queue with work that is due, as it was then: `version` grows with what comes in, `endpointVersion` with its endpoint. */
export type DueQueue = QueueKey & { version: number; endpointVersion: number };

/**
 * Queues that a process takes: at most `limit`, and none of the accounts and endpoints that are passed over. Where there are accounts with clocks
 * of their own, those that it has are due by these; others of these accounts are looked for when something woke the look.
 */
interface TakenQueues {
  limit: number;
  accounts: readonly string[];
  endpoints: readonly string[];
  hasClocks: boolean;
  isWoken: boolean;
}

/**
 * Leases at most `limit` queues that are due or whose lease has run out, those of each account in turn but none of the accounts
 * and endpoints that are passed over, and returns them together with the queues that this owner has already and that are due.
 */
export async function takeDueQueues(
  sql: Sql,
  owner: string,
  now: Date,
  { limit, accounts, endpoints, hasClocks, isWoken }: TakenQueues,
) {
  const isTaken = sql`account_id <> all(${[...accounts]}::uuid[]) and endpoint_id <> all(${[...endpoints]}::uuid[])`;
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
         where owner is null and not paused and due_at <= ${now} and ${isTaken} order by due_at limit ${maxCandidates})
        union all
        (select account_id, endpoint_id, due_at from queues
         where owner is not null and not paused and leased_until <= now() and ${isTaken} order by leased_until limit ${maxCandidates})
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

/** Writes when a queue is next worth a look, unless something became due since it was read. */
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

/** Renews the leases of queues from now on; returns those that this owner still has. Those that another transaction has locked are not renewed. */
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

/** Gives leases back; a queue with `dueAt` has more to do and goes behind those that wait. */
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
 * Says that queues have something due at `dueAt`: goes with whatever makes it so, in one transaction. Rows are locked in the
 * order endpoint, queue, delivery everywhere, so call it before the deliveries are written.
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
 * Says that an endpoint itself changed: its address, its secret, whether it is on, paused or there at all. What any process has
 * fetched for it is dropped and read again, 100 ms later at most; while `isPaused`, which only one that is on can be, nobody
 * takes its queue. Goes with the change, in one transaction.
 */
export async function noteEndpointChanged(tx: Sql, { isPaused, ...key }: QueueKey & { isPaused: boolean }, now: Date) {
  await tx`
    insert into queues (account_id, endpoint_id, due_at, endpoint_version, paused)
    values (${key.accountId}, ${key.endpointId}, ${now}, 1, ${isPaused})
    on conflict (account_id, endpoint_id) do update set due_at = least(queues.due_at, excluded.due_at),
      version = queues.version + 1, endpoint_version = queues.endpoint_version + 1, paused = excluded.paused`;
}

/**
 * Ends at most `limit` pending deliveries of an endpoint that is off or gone; returns how many. They are locked by a statement of its own: see
 * ADR 27.
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
 * Removes the queue of an endpoint that was just deleted, unless a process has it or something is pending. Of those that are left each costs a look, and one
 * account's thousands go before everybody's.
 */
export async function deleteFreeQueue(tx: Sql, { accountId, endpointId }: QueueKey): Promise<void> {
  await tx`
    delete from queues where account_id = ${accountId} and endpoint_id = ${endpointId} and owner is null and not exists (
      select from deliveries d where d.account_id = ${accountId} and d.endpoint_id = ${endpointId} and d.status = 'pending')`;
}

/**
 * Removes the queue of an endpoint that is gone, unless something came into it since it was read or another process has it. It may
 * have been given back meanwhile: nobody would look at it again.
 */
export async function deleteQueue(sql: Sql, owner: string, queue: DueQueue) {
  await sql`
    delete from queues where account_id = ${queue.accountId} and endpoint_id = ${queue.endpointId}
      and (owner = ${owner} or owner is null) and version = ${queue.version}`;
}
