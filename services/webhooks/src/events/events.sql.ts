import {
  type Fragment,
  type JsonValue,
  type OutboxRow,
  type ReceivedEvent,
  type Sql,
  withinPageBytes,
} from '@customer-platform/service-kit';

/** The filters that take an event of a type: the type itself, its family, and all. */
const filtersOf = (sql: Sql, type: string) => {
  const column = sql.unsafe(type);
  return sql`array[${column}, split_part(${column}, '.', 1) || '.*', '*']`;
};

/**
 * Takes events in one statement: those not known yet, a delivery of each for every endpoint of its account whose filter
 * takes it (skipped where the endpoint is off), and the queues of those endpoints. An event that is known changes nothing.
 */
export async function takeEvents(tx: Sql, events: ReceivedEvent[], firstTryAt: Date, now: Date) {
  await tx`
    with incoming as (
      select * from unnest(
        ${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[],
        ${events.map((event) => event.type)}::text[], ${events.map((event) => event.text)}::text[],
        ${events.map((event) => (event.trace ? JSON.stringify(event.trace) : null))}::text[]::jsonb[]
      ) as i (account_id, id, type, envelope, trace)
    ), taken as (
      insert into events (account_id, id, type, envelope, trace, matched, taken_at)
      select i.account_id, i.id, i.type, i.envelope, i.trace, (
        select count(*) from endpoints e where e.account_id = i.account_id and e.events && ${filtersOf(tx, 'i.type')}
      ), ${now} from incoming i
      on conflict do nothing returning account_id, id, type
    ), made as (
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, next_try_at, created_at)
      select t.account_id, e.id, t.id, t.type, e.url, case when e.active then 'pending' else 'skipped' end,
        case when not e.active then 'endpoint_disabled' end, case when e.active then ${firstTryAt}::timestamptz end, ${now}
      from taken t join endpoints e on e.account_id = t.account_id and e.events && ${filtersOf(tx, 't.type')}
      returning account_id, endpoint_id, next_try_at
    )
    insert into queues (account_id, endpoint_id, due_at)
    select account_id, endpoint_id, min(next_try_at) from made where next_try_at is not null
    group by account_id, endpoint_id order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1`;
}

/** Adds one event that has `matched` deliveries. */
export async function insertEvent(tx: Sql, event: OutboxRow, matched: number, now: Date) {
  const trace = event.trace && tx.json(event.trace as JsonValue);
  await tx`
    insert into events (account_id, id, type, envelope, trace, matched, taken_at)
    values (${event.account_id}, ${event.id}, ${event.kind}, ${event.envelope}, ${trace}, ${matched}, ${now})`;
}

type EventRow = { id: string; envelope: string };

/** Reads an event that is not older than `oldest`. */
export async function findEvent(sql: Sql, accountId: string, id: string, oldest: Date) {
  const [row] = await sql<EventRow[]>`
    select id, envelope from events where account_id = ${accountId} and id = ${id} and taken_at > ${oldest}`;
  return row;
}

/**
 * Reads events that are not older than `oldest` with their size, newest first, after the one named: ids grow with time. No more than a
 * page has room for.
 */
export async function selectEvents(
  sql: Sql,
  accountId: string,
  filter: { type: string | undefined; after: string | undefined; oldest: Date },
  limit: number,
) {
  const { type, after, oldest } = filter;
  const page: Fragment = sql`
    select id, envelope, octet_length(envelope) as bytes from events
    where account_id = ${accountId} and taken_at > ${oldest}
      ${type === undefined ? sql`` : sql`and type = ${type}`} ${after === undefined ? sql`` : sql`and id < ${after}`}
    order by id desc limit ${limit}`;
  return await sql<(EventRow & { bytes: number })[]>`${withinPageBytes(sql, page, sql`id desc`)}`;
}

/**
 * Holds events against deliveries: for those taken in [from, to), how many deliveries are in each state, and how many that
 * were made are in none (0 unless something was lost).
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
