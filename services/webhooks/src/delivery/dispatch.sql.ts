import type { Sql } from '@customer-platform/service-kit';
import type { DueDelivery, TryOutcome } from './outcome.ts';

/** Names the queue of one endpoint. */
export type QueueKey = { accountId: string; endpointId: string };

type KeyRow = { account_id: string; endpoint_id: string };

/** Short enough for a crash to delay little, long enough for a renewal to fail twice. */
export const leaseSeconds = 10;

/** Queues looked at in one round of taking: bounds the statement, not the work. */
const maxCandidates = 1000;

const accountsOf = (keys: QueueKey[]) => keys.map((key) => key.accountId);
const endpointsOf = (keys: QueueKey[]) => keys.map((key) => key.endpointId);

/** A queue with work that is due; it was `version` then. */
export type DueQueue = QueueKey & { version: number };

/**
 * Leases at most `limit` queues that are due or whose lease has run out, those of each account in turn, and answers them
 * together with the queues that this owner has already and that are due.
 */
export async function takeDueQueues(sql: Sql, owner: string, now: Date, limit: number): Promise<DueQueue[]> {
  const rows = await sql<(KeyRow & { version: number })[]>`
    with candidate as (
      select account_id, endpoint_id, due_at, row_number() over (partition by account_id order by due_at) as turn
      from (
        (select account_id, endpoint_id, due_at from queues
         where owner is null and due_at <= ${now} order by due_at limit ${maxCandidates})
        union all
        (select account_id, endpoint_id, due_at from queues
         where owner is not null and leased_until <= now() order by leased_until limit ${maxCandidates})
      ) as free
    ), free as (
      select q.account_id, q.endpoint_id from queues q join candidate c using (account_id, endpoint_id)
      where q.owner is null or q.leased_until <= now()
      order by c.turn, c.due_at limit ${limit} for update of q skip locked
    ), taken as (
      update queues q set owner = ${owner}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      from free where q.account_id = free.account_id and q.endpoint_id = free.endpoint_id
      returning q.account_id, q.endpoint_id, q.version
    )
    select account_id, endpoint_id, version from taken
    union all
    select account_id, endpoint_id, version from queues
    where owner = ${owner} and leased_until > now() and due_at <= ${now}`;
  return rows.map((row) => ({ accountId: row.account_id, endpointId: row.endpoint_id, version: row.version }));
}

/** What is known of a queue at one moment: its endpoint, what is due, and when something else will be. */
export type QueueState = QueueKey & {
  version: number;
  endpoint: { url: string; isActive: boolean; secrets: Uint8Array[]; failingSince: Date | null } | null;
  due: DueDelivery[];
  /** When the next of what is not due yet will be, null where there is none. */
  laterAt: Date | null;
};

type StateRow = KeyRow & {
  version: number;
  url: string | null;
  active: boolean;
  secret: Uint8Array;
  previous_secret: Uint8Array | null;
  failing_since: Date | null;
  later_at: Date | null;
  id: string | null;
  event_id: string;
  run: number;
  step: number;
  is_manual: boolean;
  envelope: string;
  trace: Record<string, string> | null;
};

/** Reads queues with at most `limit` of their due deliveries each, longest due first, without those under way. */
export async function readQueues(
  sql: Sql,
  wanted: (QueueKey & { limit: number })[],
  busyIds: string[],
  now: Date,
): Promise<QueueState[]> {
  const rows = await sql<StateRow[]>`
    select w.account_id, w.endpoint_id, q.version, e.url, e.active, e.secret, e.failing_since, later.next_try_at as later_at,
      case when e.previous_secret_until > ${now} then e.previous_secret end as previous_secret,
      due.id, due.event_id, due.run, due.step, due.is_manual, due.envelope, due.trace
    from unnest(${accountsOf(wanted)}::uuid[], ${endpointsOf(wanted)}::uuid[], ${wanted.map((one) => one.limit)}::int[])
      as w (account_id, endpoint_id, most)
    join queues q on q.account_id = w.account_id and q.endpoint_id = w.endpoint_id
    left join endpoints e on e.account_id = w.account_id and e.id = w.endpoint_id
    left join lateral (
      select d.next_try_at from deliveries d
      where d.account_id = w.account_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_try_at > ${now}
      order by d.next_try_at limit 1
    ) as later on true
    left join lateral (
      select d.id, d.event_id, d.run, d.step, d.is_manual, v.envelope, v.trace, d.next_try_at
      from deliveries d join events v on v.account_id = d.account_id and v.id = d.event_id
      where d.account_id = w.account_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_try_at <= ${now}
        and d.id <> all(${busyIds}::uuid[])
      order by d.next_try_at, d.id limit w.most
    ) as due on true
    order by w.account_id, w.endpoint_id, due.next_try_at, due.id`;
  const states: QueueState[] = [];
  for (const row of rows) {
    const last = states.at(-1);
    const state = last?.endpointId === row.endpoint_id && last.accountId === row.account_id ? last : newState(row);
    if (state !== last) states.push(state);
    if (row.id !== null) state.due.push(dueDelivery(row, row.id));
  }
  return states;
}

function newState(row: StateRow): QueueState {
  const secrets = row.previous_secret ? [row.secret, row.previous_secret] : [row.secret];
  const { url, active: isActive, failing_since: failingSince } = row;
  return {
    accountId: row.account_id,
    endpointId: row.endpoint_id,
    version: row.version,
    endpoint: url === null ? null : { url, isActive, secrets, failingSince },
    due: [],
    laterAt: row.later_at,
  };
}

function dueDelivery(row: StateRow, id: string): DueDelivery {
  const { event_id: eventId, run, step, is_manual: isManual, envelope, trace } = row;
  return { id, eventId, run, step, isManual, envelope, trace };
}

/** A change of what is known of an endpoint, from its tries. */
export type EndpointNews = QueueKey & { url: string; failingSince: Date | null; disable: string | null };

/**
 * Writes since when endpoints have only failed, and switches off those that are to be; the event about it follows. What an
 * address answered says nothing of the one that an endpoint has been given since.
 */
export async function writeEndpointNews(tx: Sql, news: EndpointNews[], now: Date): Promise<void> {
  await tx`
    update endpoints e set failing_since = n.failing_since,
      active = e.active and n.disable is null,
      disabled_reason = case when e.active then n.disable else e.disabled_reason end,
      to_announce = e.to_announce or (e.active and n.disable is not null),
      updated_at = case when e.active and n.disable is not null then ${now} else e.updated_at end
    from unnest(${accountsOf(news)}::uuid[], ${endpointsOf(news)}::uuid[],
      ${news.map((one) => one.failingSince?.toISOString() ?? null)}::timestamptz[],
      ${news.map((one) => one.disable)}::text[], ${news.map((one) => one.url)}::text[])
      as n (account_id, endpoint_id, failing_since, disable, url)
    where e.account_id = n.account_id and e.id = n.endpoint_id and e.url = n.url`;
}

/**
 * Writes the tries and what they led to, in one statement for any number. A delivery that was ended or asked for again
 * while its try was under way gets the try's row and keeps its state; one that was ended and yet arrived is delivered.
 * Queues get to know when their next try is, also that of a delivery which was asked for again meanwhile: while it was
 * under way, looks passed it over.
 */
export async function writeOutcomes(tx: Sql, outcomes: TryOutcome[], now: Date): Promise<void> {
  const decides = tx`(d.run = o.run and (d.status = 'pending' or o.status = 'delivered'))`;
  await tx`
    with outcome as (
      select * from unnest(
        ${outcomes.map((one) => one.accountId)}::uuid[], ${outcomes.map((one) => one.endpointId)}::uuid[],
        ${outcomes.map((one) => one.deliveryId)}::uuid[], ${outcomes.map((one) => one.run)}::int[],
        ${outcomes.map((one) => one.at.toISOString())}::timestamptz[], ${outcomes.map((one) => one.url)}::text[],
        ${outcomes.map((one) => one.httpStatus)}::smallint[], ${outcomes.map((one) => one.error)}::text[],
        ${outcomes.map((one) => one.body)}::text[], ${outcomes.map((one) => one.durationMs)}::int[],
        ${outcomes.map((one) => String(one.isManual))}::text[]::boolean[], ${outcomes.map((one) => one.status)}::text[],
        ${outcomes.map((one) => one.reason)}::text[],
        ${outcomes.map((one) => one.nextTryAt?.toISOString() ?? null)}::timestamptz[],
        ${outcomes.map((one) => String(one.disable !== null))}::text[]::boolean[]
      ) as o (account_id, endpoint_id, delivery_id, run, at, url, http_status, error, body, duration_ms, is_manual, status,
        reason, next_try_at, disables)
    ), changed as (
      update deliveries d set
        tries_made = d.tries_made + 1,
        url = o.url,
        response_status = coalesce(o.http_status, d.response_status),
        response_body = case when o.http_status is null then d.response_body else o.body end,
        response_duration_ms = case when o.http_status is null then d.response_duration_ms else o.duration_ms end,
        step = case when ${decides} then d.step + 1 else d.step end,
        is_manual = d.is_manual and not ${decides},
        status = case when ${decides} then o.status else d.status end,
        reason = case when ${decides} then o.reason else d.reason end,
        next_try_at = case when ${decides} then o.next_try_at else d.next_try_at end
      from outcome o where d.account_id = o.account_id and d.id = o.delivery_id
      returning d.account_id, d.id, d.endpoint_id, d.tries_made, d.status, d.next_try_at
    ), written as (
      insert into tries (account_id, delivery_id, number, at, status, error, duration_ms, is_manual)
      select c.account_id, c.id, c.tries_made, o.at, o.http_status, o.error, o.duration_ms, o.is_manual
      from changed c join outcome o on o.account_id = c.account_id and o.delivery_id = c.id
    )
    insert into queues (account_id, endpoint_id, due_at)
    select account_id, endpoint_id, min(due_at) from (
      select account_id, endpoint_id, next_try_at as due_at from changed where status = 'pending'
      union all
      select account_id, endpoint_id, ${now}::timestamptz from outcome where disables
    ) as due
    group by account_id, endpoint_id order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1`;
}

/** Writes when a queue is next worth a look, unless something became due since it was read. */
export async function noteNextDue(
  sql: Sql,
  owner: string,
  queues: (QueueKey & { version: number; laterAt: Date | null })[],
): Promise<void> {
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

/** Makes leases last from now again; answers the queues that this owner still has. */
export async function renewLeases(sql: Sql, owner: string): Promise<QueueKey[]> {
  const rows = await sql<KeyRow[]>`
    with mine as (select account_id, endpoint_id from queues where owner = ${owner} for update skip locked),
    renewed as (
      update queues q set leased_until = now() + make_interval(secs => ${leaseSeconds})
      from mine where q.account_id = mine.account_id and q.endpoint_id = mine.endpoint_id
    )
    select account_id, endpoint_id from queues where owner = ${owner}`;
  return rows.map((row) => ({ accountId: row.account_id, endpointId: row.endpoint_id }));
}

/** Gives leases back; a queue with `dueAt` has more to do and goes behind those that wait. */
export async function releaseQueues(
  sql: Sql,
  owner: string,
  queues: (QueueKey & { dueAt: Date | null })[],
): Promise<void> {
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
export async function makeDue(tx: Sql, keys: QueueKey[], dueAt: Date): Promise<void> {
  await tx`
    insert into queues (account_id, endpoint_id, due_at)
    select distinct account_id, endpoint_id, ${dueAt}::timestamptz
    from unnest(${accountsOf(keys)}::uuid[], ${endpointsOf(keys)}::uuid[]) as k (account_id, endpoint_id)
    order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1`;
}

/** Ends at most `limit` pending deliveries of an endpoint that is off or gone; answers how many. */
export async function endPending(
  sql: Sql,
  key: QueueKey,
  reason: 'endpoint_disabled' | 'endpoint_deleted',
  limit: number,
): Promise<number> {
  const result = await sql`
    with pending as (
      select account_id, id from deliveries
      where account_id = ${key.accountId} and endpoint_id = ${key.endpointId} and status = 'pending'
      order by next_try_at limit ${limit} for update skip locked
    )
    update deliveries d set status = 'failed', reason = ${reason}, next_try_at = null, is_manual = false
    from pending p where d.account_id = p.account_id and d.id = p.id`;
  return result.count;
}

/** Removes the queue of an endpoint that is gone, unless something came into it since it was read. */
export async function deleteQueue(sql: Sql, owner: string, queue: DueQueue): Promise<void> {
  await sql`
    delete from queues where account_id = ${queue.accountId} and endpoint_id = ${queue.endpointId}
      and owner = ${owner} and version = ${queue.version}`;
}
