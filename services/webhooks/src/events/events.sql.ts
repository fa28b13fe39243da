import {
  type Fragment,
  type JsonValue,
  type OutboxRow,
  type ReceivedEvent,
  readUnderLock,
  type Sql,
  withinPageBytes,
} from '@customer-platform/service-kit';
import { firstOf } from '../deliveries/deliveries.sql.ts';
import type { CreatedDelivery } from '../sending/accept-created.ts';

/** The filters that match an event type: the type itself, its family, and `*`. */
const filtersOf = (sql: Sql, type: string) => {
  const column = sql.unsafe(type);
  return sql`array[${column}, split_part(${column}, '.', 1) || '.*', '*']`;
};

/**
 * Records new events with their numbers, and creates a delivery for each matching endpoint (`skipped` if disabled) and
 * the queues. Returns the deliveries to attempt. A known event changes nothing. Events of an account are numbered in
 * the given order. Uses two statements in one round trip: the first locks the accounts' counters until the commit. The
 * second thus sees all events recorded before, and no other transaction records any meanwhile.
 */
export async function takeEvents(
  tx: Sql,
  events: ReceivedEvent[],
  firstTryAt: Date,
  now: Date,
): Promise<CreatedDelivery[]> {
  const accounts = events.map((event) => event.account);
  const ids = events.map((event) => event.id);
  const raised = tx`
    insert into event_counters as c (account_id, last)
    select account_id, count(distinct id) from unnest(${accounts}::uuid[], ${ids}::uuid[]) as i (account_id, id)
    group by account_id order by account_id
    on conflict (account_id) do update set last = c.last + excluded.last`;
  return await readUnderLock(raised, async () => await insertEvents(tx, events, firstTryAt, now));
}

/** Inserts the new events, and gives the numbers of already known ones back to the counters. Returns the deliveries to attempt. */
async function insertEvents(tx: Sql, events: ReceivedEvent[], firstTryAt: Date, now: Date) {
  return await tx<CreatedDelivery[]>`
    with incoming as materialized (
      select distinct on (i.account_id, i.id) i.*, (
        select true from events e where e.account_id = i.account_id and e.id = i.id) as is_known
      from unnest(
        ${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[],
        ${events.map((event) => event.type)}::text[], ${events.map((event) => event.text)}::text[],
        ${events.map((event) => (event.trace ? JSON.stringify(event.trace) : null))}::text[]::jsonb[]
      ) with ordinality as i (account_id, id, type, envelope, trace, place)
      order by i.account_id, i.id, i.place
    ), counted as materialized (
      select c.account_id, c.last - i.given as before, i.known from event_counters c join (
        select account_id, count(*) as given, count(is_known) as known from incoming group by account_id
      ) as i using (account_id)
    ), given_back as (
      update event_counters c set last = c.last - n.known from counted n where c.account_id = n.account_id and n.known > 0
    ), fresh as materialized (
      select *, dense_rank() over (order by account_id, type) as kind from incoming where is_known is null
    ), takers as materialized (
      select k.kind, array_agg(e.id) as endpoints from (select distinct kind, account_id, type from fresh) as k
      join endpoints e on e.account_id = k.account_id and e.events && ${filtersOf(tx, 'k.type')} group by k.kind
    ), placed as materialized (
      select fresh.*, coalesce(endpoints, '{}') as endpoints from fresh left join takers using (kind)
    ), taken as (
      insert into events (account_id, id, sequence, type, envelope, trace, matched, taken_at)
      select p.account_id, p.id, n.before + row_number() over (partition by p.account_id order by p.place),
        p.type, p.envelope, p.trace, cardinality(p.endpoints), ${now} from placed p join counted n using (account_id)
      returning account_id, id, sequence
    ), made as (
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, next_try_at, created_at)
      select p.account_id, e.id, p.id, p.type, e.url, case when e.active then 'pending' else 'skipped' end,
        case when not e.active then 'endpoint_disabled' end, case when e.active then ${firstTryAt}::timestamptz end, ${now}
      from placed p cross join unnest(p.endpoints) as taker (id) join endpoints e on e.account_id = p.account_id and e.id = taker.id
      returning account_id, id, endpoint_id, event_id, next_try_at
    ), due as (
      insert into queues (account_id, endpoint_id, due_at)
      select account_id, endpoint_id, min(next_try_at) from made where next_try_at is not null
      group by account_id, endpoint_id order by account_id, endpoint_id
      on conflict (account_id, endpoint_id) do update
        set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1
      returning account_id, endpoint_id, version, endpoint_version
    )
    select m.account_id as "accountId", m.endpoint_id as "endpointId", m.id, m.event_id as "eventId", t.sequence,
      d.version, d.endpoint_version as "endpointVersion"
    from made m join due d using (account_id, endpoint_id) join taken t on t.account_id = m.account_id and t.id = m.event_id
    where m.next_try_at is not null order by sequence`;
}

/** Inserts one event with its account's next number; the caller creates its `matched` deliveries. Other events of the account wait. */
export async function insertEvent(tx: Sql, event: OutboxRow, matched: number, now: Date) {
  const trace = event.trace && tx.json(event.trace as JsonValue);
  await tx`
    with raised as (
      insert into event_counters as c (account_id, last) values (${event.account_id}, 1)
      on conflict (account_id) do update set last = c.last + 1 returning last
    )
    insert into events (account_id, id, sequence, type, envelope, trace, matched, taken_at)
    select ${event.account_id}, ${event.id}, last, ${event.kind}, ${event.envelope}, ${trace}::jsonb, ${matched}, ${now} from raised`;
}

/** An event as the API shows it: its number in the account and the envelope that is sent. */
export type EventRow = { id: string; sequence: number; envelope: string };

/** The same, with its approximate size in bytes. */
export type SizedEventRow = EventRow & { bytes: number };

/** Reads an event that was recorded after `oldest`. */
export async function findEvent(sql: Sql, accountId: string, id: string, oldest: Date) {
  const [row] = await sql<EventRow[]>`
    select id, sequence, envelope from events where account_id = ${accountId} and id = ${id} and taken_at > ${oldest}`;
  return row;
}

/** Filter of a list: by event type and recording after `oldest`. */
interface Listed {
  type: string | undefined;
  oldest: Date;
}

/**
 * Reads events with their sizes, up to the size of a page. With `before`, newest first; with `after`, in ascending
 * order.
 */
export async function selectEvents(
  sql: Sql,
  accountId: string,
  { type, oldest, ...from }: Listed & ({ before: number | undefined } | { after: number }),
  limit: number,
) {
  const isAscending = 'after' in from;
  const order = isAscending ? sql`sequence` : sql`sequence desc`;
  const place = isAscending
    ? sql`sequence > ${from.after}`
    : sql`sequence > 0 ${from.before === undefined ? sql`` : sql`and sequence < ${from.before}`}`;
  const page: Fragment = sql`
    select id, sequence, envelope, octet_length(envelope) as bytes from events
    where account_id = ${accountId} and ${place} ${type === undefined ? sql`` : sql`and type = ${type}`} and taken_at > ${oldest}
    order by ${order} limit ${firstOf(sql, limit)}`;
  return await sql<SizedEventRow[]>`${withinPageBytes(sql, page, order)}`;
}

/** Returns the number of an account's last event, or 0. */
export async function lastSequence(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql<{ last: number }[]>`select last from event_counters where account_id = ${accountId}`;
  return row?.last ?? 0;
}

/**
 * Returns where to start reading: `after`, or the number of the last event older than `oldest` if higher. Millions of
 * older rows may still exist. A binary search reads about as many rows as the last number has bits.
 */
export async function firstShown(sql: Sql, accountId: string, after: number, oldest: Date): Promise<number> {
  const isNextTooOld = async (sequence: number) => {
    const [row] = await sql<{ is_over: boolean }[]>`
      select taken_at <= ${oldest} as is_over from events where account_id = ${accountId} and sequence > ${sequence}
      order by sequence limit ${firstOf(sql, 1)}`;
    return row?.is_over ?? false;
  };
  if (!(await isNextTooOld(after))) return after;
  let [low, high] = [after, await lastSequence(sql, accountId)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isNextTooOld(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Compares events with deliveries recorded in [from, to): deliveries by status, and how many are missing. Missing must
 * be 0, or something was lost.
 */
export async function countUnaccounted(
  sql: Sql,
  from: Date,
  to: Date,
): Promise<{ unaccounted: number; byStatus: Record<string, number> }> {
  const rows = await sql<{ status: string | null; count: number }[]>`
    with taken as (select account_id, id, matched from events where taken_at >= ${from} and taken_at < ${to})
    select d.status, count(*)::int as count
    from taken t join deliveries d on d.account_id = t.account_id and d.event_id = t.id group by d.status
    union all
    select null, coalesce(sum(matched), 0)::int from taken`;
  const expected = rows.find((row) => row.status === null)?.count ?? 0;
  const byStatus = Object.fromEntries(rows.flatMap((row) => (row.status === null ? [] : [[row.status, row.count]])));
  const counted = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
  return { unaccounted: expected - counted, byStatus };
}
