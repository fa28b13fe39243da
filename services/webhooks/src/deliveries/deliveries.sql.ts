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

/** The last tries of a delivery that are read and shown: redelivering adds any number. */
const maxTries = 100;
/** About how many bytes a try takes in a response. */
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

/** Reads a delivery to an endpoint that there is, made after `oldest`, with its event and its last 100 tries. */
export async function findDelivery(sql: Sql, { accountId, endpointId }: QueueKey, id: string, oldest: Date) {
  const [row] = await sql<DeliveryRow[]>`
    select ${columns(sql)} from ${withEnvelope(sql)} as d
    where d.account_id = ${accountId} and d.id = ${id} and d.endpoint_id = ${endpointId} and d.created_at > ${oldest}
      and exists (select from endpoints e where e.account_id = d.account_id and e.id = d.endpoint_id)`;
  return row;
}

/** Finds the position of a delivery in the list of its endpoint; undefined where it is not in it. */
export async function findCursor(sql: Sql, { accountId, endpointId }: QueueKey, id: string, oldest: Date) {
  const [row] = await sql<Pick<DeliveryRow, 'id' | 'created_at'>[]>`
    select id, created_at from deliveries
    where account_id = ${accountId} and id = ${id} and endpoint_id = ${endpointId} and created_at > ${oldest}`;
  return row;
}

/**
 * A limit that the planner does not know: it takes the first of each partition then. It underestimates how many deliveries an endpoint has,
 * and where it thought that a page has all of them, it would read and sort all.
 */
export const firstOf = (sql: Sql, limit: number) => sql`(select ${limit}::integer)`;

/** Deliveries of a list: of a status, of a kind of event, and made after `oldest`. */
interface Listed {
  status?: string | undefined;
  event?: string | undefined;
  oldest: Date;
}

/**
 * Reads deliveries to an endpoint with their sizes, newest first, after the one named: no more than a page has room for. The page is chosen
 * before its events are joined: over partitions the planner would rather sort all of a list than merge the first of each.
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

/** A delivery of an event, and when it was last told: the last try's instant, else when the delivery was made. */
interface ToldRow {
  delivery: string;
  endpoint: string;
  event: string;
  status: DeliveryStatus;
  at: Date;
  response_status: number | null;
}

/** Reads the deliveries of events that were made after `oldest`, oldest first, whether or not their endpoints are still there. */
export async function selectDeliveriesOf(
  sql: Sql,
  accountId: string,
  { eventIds, oldest }: { eventIds: readonly string[]; oldest: Date },
  limit: number,
) {
  return await sql<ToldRow[]>`
    select d.id as delivery, d.endpoint_id as endpoint, d.event, d.status, coalesce(t.at, d.created_at) as at, d.response_status
    from deliveries d
    left join tries t on t.account_id = d.account_id and t.delivery_id = d.id and t.number = d.tries_made
    where d.account_id = ${accountId} and d.event_id = any(${eventIds}::uuid[]) and d.created_at > ${oldest}
    order by d.created_at, d.id limit ${limit}`;
}

/** A delivery as operators see it: when it was last told, why the last try failed, the beginning of the last response. */
interface LastDelivery extends Pick<DeliveryRow, 'id' | 'event' | 'event_id' | 'status' | 'response_status'> {
  tries: number;
  at: Date;
  error: string | null;
  response: string | null;
  trace_id: string | null;
}

/** Characters of a response that operators see in the list. */
const shownOfResponse = 500;

/** Reads the last deliveries to an endpoint that were made after `oldest`, newest first. */
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

/** Adds the delivery of an event to one endpoint of its account, due now; skipped where the endpoint is off. */
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

/** Sets the columns that make a delivery due now and begin its retry schedule again; one that is due already keeps its place. */
export const restarted = (sql: Sql, now: Date) => sql`
  status = 'pending', reason = null, run = run + 1, step = 0, is_manual = true, next_try_at = least(next_try_at, ${now}::timestamptz)`;

/** Makes a delivery due now and begins its retry schedule again; a try under way no longer decides about it. */
export async function restartDelivery(tx: Sql, accountId: string, id: string, now: Date) {
  await tx`update deliveries set ${restarted(tx, now)} where account_id = ${accountId} and id = ${id}`;
}
