import type { Delivery, DeliveryStatus, DeliveryTry } from '@customer-platform/contracts/webhooks';
import { type OutboxRow, type Sql, withinPageBytes } from '@customer-platform/service-kit';
import type { QueueKey } from '../sending/dispatch.sql.ts';
import { traceIdOf } from '../sending/queued-deliveries.sql.ts';

export interface DeliveryRow extends Pick<Delivery, 'id' | 'event' | 'event_id' | 'status' | 'reason' | 'url'> {
  endpoint_id: string;
  next_try_at: Date | null;
  response_status: number | null;
  response_body: string | null;
  response_duration_ms: number | null;
  created_at: Date;
  envelope: string;
  tries: (Omit<DeliveryTry, 'trigger'> & { is_manual: boolean })[];
}

/** Number of last attempts read and shown per delivery. Redelivering can add any number. */
const maxTries = 100;
/** Approximate bytes of an attempt in a response. */
const bytesOfTry = 130;

const columns = (sql: Sql) => sql`
  d.id, d.endpoint_id, d.event_id, d.event, d.url, d.status, d.reason, d.next_try_at, d.response_status, d.response_body,
  d.response_duration_ms, d.created_at, d.envelope, (
    select coalesce(json_agg(json_build_object('number', t.number, 'at', t.at, 'status', t.status, 'error', t.error,
      'duration_ms', t.duration_ms, 'is_manual', t.is_manual) order by t.number), '[]')
    from tries t where t.account_id = d.account_id and t.delivery_id = d.id and t.number > d.tries_made - ${maxTries}::integer
  ) as tries`;

const withEnvelope = (sql: Sql) => sql`(
  select d.*, v.envelope from deliveries d join events v on v.account_id = d.account_id and v.id = d.event_id)`;

/** Reads a delivery created after `oldest`, with its event and last 100 attempts. Returns undefined if its endpoint was deleted. */
export async function findDelivery(sql: Sql, { accountId, endpointId }: QueueKey, id: string, oldest: Date) {
  const [row] = await sql<DeliveryRow[]>`
    select ${columns(sql)} from ${withEnvelope(sql)} as d
    where d.account_id = ${accountId} and d.id = ${id} and d.endpoint_id = ${endpointId} and d.created_at > ${oldest}
      and exists (select from endpoints e where e.account_id = d.account_id and e.id = d.endpoint_id)`;
  return row;
}

/** Returns the position of a delivery in its endpoint's list; undefined if the list does not contain it. */
export async function findCursor(sql: Sql, { accountId, endpointId }: QueueKey, id: string, oldest: Date) {
  const [row] = await sql<Pick<DeliveryRow, 'id' | 'created_at'>[]>`
    select id, created_at from deliveries
    where account_id = ${accountId} and id = ${id} and endpoint_id = ${endpointId} and created_at > ${oldest}`;
  return row;
}

/**
 * Hides a limit from the planner, which underestimates how many deliveries an endpoint has. If it knew a limit above its
 * estimate, it would read and sort all of them. Otherwise it merges the first rows of each partition.
 */
export const firstOf = (sql: Sql, limit: number) => sql`(select ${limit}::integer)`;

/** Filter of a list: by status, event type and creation after `oldest`. */
interface Listed {
  status?: string | undefined;
  event?: string | undefined;
  oldest: Date;
}

/**
 * Reads an endpoint's deliveries after the cursor with their sizes, newest first, up to the size of a page. Selects the
 * page before joining events: across partitions, the planner would otherwise sort the whole list.
 */
export async function selectDeliveries(
  sql: Sql,
  { accountId, endpointId }: QueueKey,
  { status, event, oldest }: Listed,
  { after, limit }: { after: Pick<DeliveryRow, 'id' | 'created_at'> | undefined; limit: number },
) {
  const page: ReturnType<Sql> = sql`
    select d.*, octet_length(d.envelope) + coalesce(octet_length(d.response_body), 0)
      + least(d.tries_made, ${maxTries}::integer) * ${bytesOfTry}::integer as bytes
    from (
      select d.*, v.envelope from (
        select * from deliveries
        where account_id = ${accountId} and endpoint_id = ${endpointId} and created_at > ${oldest}
          ${status === undefined ? sql`` : sql`and status = ${status}`}
          ${event === undefined ? sql`` : sql`and event = ${event}`}
          ${after === undefined ? sql`` : sql`and (created_at, id) < (${after.created_at}, ${after.id})`}
        order by created_at desc, id desc limit ${firstOf(sql, limit)}
      ) as d join events v on v.account_id = d.account_id and v.id = d.event_id
    ) as d
    order by d.created_at desc, d.id desc`;
  return await sql<(DeliveryRow & { bytes: number })[]>`
    select ${columns(sql)}, d.bytes from (${withinPageBytes(sql, page, sql`created_at desc, id desc`)}) as d
    order by d.created_at desc, d.id desc`;
}

/** A delivery of an event. `at` is the time of the last attempt; before the first, the creation time. */
interface DeliveryOfEvent {
  delivery: string;
  endpoint: string;
  event: string;
  status: DeliveryStatus;
  at: Date;
  response_status: number | null;
}

/** Reads the deliveries of events that were created after `oldest`, oldest first, including those to deleted endpoints. */
export async function selectDeliveriesOf(
  sql: Sql,
  accountId: string,
  { eventIds, oldest }: { eventIds: readonly string[]; oldest: Date },
  limit: number,
) {
  return await sql<DeliveryOfEvent[]>`
    select d.id as delivery, d.endpoint_id as endpoint, d.event, d.status, coalesce(t.at, d.created_at) as at, d.response_status
    from deliveries d
    left join tries t on t.account_id = d.account_id and t.delivery_id = d.id and t.number = d.tries_made
    where d.account_id = ${accountId} and d.event_id = any(${eventIds}::uuid[]) and d.created_at > ${oldest}
    order by d.created_at, d.id limit ${limit}`;
}

/** A delivery for operators, with the last attempt's time and error and the start of the last response. */
interface LastDelivery extends Pick<DeliveryRow, 'id' | 'event' | 'event_id' | 'status' | 'response_status'> {
  tries: number;
  at: Date;
  error: string | null;
  response: string | null;
  trace_id: string | null;
}

/** Characters of a response that the list shows to operators. */
const shownOfResponse = 500;

/** Reads the last deliveries to an endpoint that were created after `oldest`, newest first. */
export async function selectLastDeliveries(
  sql: Sql,
  { accountId, endpointId }: QueueKey,
  oldest: Date,
  limit: number,
): Promise<LastDelivery[]> {
  return await sql<LastDelivery[]>`
    select d.id, d.event, d.event_id, d.status, d.tries_made as tries, coalesce(t.at, d.created_at) as at, d.response_status,
      left(d.response_body, ${shownOfResponse}) as response, ${traceIdOf(sql)} as trace_id,
      case when d.status <> 'delivered' and t.status between 200 and 299 is not true then coalesce(t.error, 'HTTP ' || t.status) end as error
    from (
      select * from deliveries where account_id = ${accountId} and endpoint_id = ${endpointId} and created_at > ${oldest}
      order by created_at desc, id desc limit ${firstOf(sql, limit)}
    ) as d
    left join tries t on t.account_id = d.account_id and t.delivery_id = d.id and t.number = d.tries_made
    left join events v on v.account_id = d.account_id and v.id = d.event_id
    order by d.created_at desc, d.id desc`;
}

/** Inserts a delivery of an event to one endpoint, due now. It is `skipped` if the endpoint is disabled. */
export async function insertDelivery(
  tx: Sql,
  endpoint: { id: string; url: string; active: boolean },
  event: OutboxRow,
  now: Date,
) {
  const status = endpoint.active ? 'pending' : 'skipped';
  const reason = endpoint.active ? null : 'endpoint_disabled';
  const [row] = await tx<{ id: string }[]>`
    insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, next_try_at, created_at)
    values (${event.account_id}, ${endpoint.id}, ${event.id}, ${event.kind}, ${endpoint.url}, ${status}, ${reason},
      ${endpoint.active ? now : null}, ${now})
    returning id`;
  return (await findDelivery(tx, { accountId: event.account_id, endpointId: endpoint.id }, row!.id, new Date(0)))!;
}

/** Sets the columns that make a delivery due now and restart its retry schedule. A delivery already due keeps its place. */
export const restarted = (sql: Sql, now: Date) => sql`
  status = 'pending', reason = null, run = run + 1, step = 0, is_manual = true, next_try_at = least(next_try_at, ${now}::timestamptz)`;

/** Makes a delivery due now and restarts its retry schedule. An attempt in flight no longer decides its state. */
export async function restartDelivery(tx: Sql, accountId: string, id: string, now: Date) {
  await tx`update deliveries set ${restarted(tx, now)} where account_id = ${accountId} and id = ${id}`;
}
