import type { Sql } from '@customer-platform/service-kit';
import { accountsOf, endpointsOf, type QueueKey } from './dispatch.sql.ts';
import type { TryOutcome } from './outcome.ts';

/** Returns an account's current time. */
type NowOf = (of: { accountId: string }) => Date;

/** Results for an endpoint: whether an attempt succeeded, when the first failure after the last success was, and why to disable it. */
export type EndpointNews = QueueKey & {
  url: string;
  delivered: boolean;
  failedAt: Date | null;
  disable: string | null;
};

/**
 * Updates `failing_since` where failing begins or ends, disables endpoints, and queues their announcements. Compares
 * with the stored row, because another process may have written since. Ignores results of a URL that was replaced.
 * Disabling also clears the queue's pause, so that pending deliveries end. Skips endpoints that another transaction has
 * locked, and returns the ids of skipped ones, whose outcomes the caller retries.
 */
export async function writeEndpointNews(tx: Sql, news: readonly EndpointNews[], nowOf: NowOf): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    with news as (
      select * from unnest(${accountsOf(news)}::uuid[], ${endpointsOf(news)}::uuid[],
        ${news.map((one) => String(one.delivered))}::text[]::boolean[],
        ${news.map((one) => one.failedAt?.toISOString() ?? null)}::timestamptz[],
        ${news.map((one) => one.disable)}::text[], ${news.map((one) => one.url)}::text[],
        ${news.map((one) => nowOf(one).toISOString())}::text[]::timestamptz[])
        as n (account_id, endpoint_id, delivered, failed_at, disable, url, now)
    ), changing as materialized (
      select e.account_id, e.id from news n join endpoints e on e.account_id = n.account_id and e.id = n.endpoint_id
      where e.url = n.url and (n.disable is not null
        or case when e.failing_since is null then n.failed_at is not null else n.delivered end)
    ), locked as materialized (
      select e.account_id, e.id from endpoints e
      where (e.account_id, e.id) in (select account_id, id from changing) for no key update skip locked
    ), changed as (
      update endpoints e set failing_since = case when n.delivered then n.failed_at else coalesce(e.failing_since, n.failed_at) end,
        active = e.active and n.disable is null,
        disabled_reason = case when e.active then n.disable else e.disabled_reason end,
        updated_at = case when e.active and n.disable is not null then n.now else e.updated_at end
      from news n join locked on locked.account_id = n.account_id and locked.id = n.endpoint_id
      where e.account_id = n.account_id and e.id = n.endpoint_id and e.url = n.url
      returning old.active as was_active, e.*
    ), announced as (
      insert into announcements (account_id, endpoint_id, url, description, events, disabled_reason, paused, created_at, updated_at)
      select account_id, id, url, description, events, disabled_reason, paused, created_at, updated_at
      from changed where was_active and not active
    ), resumed as (
      update queues q set paused = false from changed c
      where q.account_id = c.account_id and q.endpoint_id = c.id and q.paused and not c.active
    )
    select id from (select account_id, id from changing except select account_id, id from locked) as passed_over`;
  return rows.map(({ id }) => id);
}

/**
 * Writes attempts and the resulting delivery states, in two statements per batch: the first locks the queues, because
 * every transaction locks queues before deliveries (ADR 27); the second writes. The state changes if the delivery is
 * still in the attempt's run, and is pending or the attempt succeeded. Also sets when the queues are due next, and returns
 * their endpoints. If `mayBeWritten`, a stored outcome is not written again, but its queue is looked at again.
 */
export async function writeOutcomes(
  tx: Sql,
  outcomes: readonly TryOutcome[],
  nowOf: NowOf,
  { mayBeWritten }: { mayBeWritten: boolean },
): Promise<string[]> {
  const locking = tx`
    select from queues where (account_id, endpoint_id) in (
      select * from unnest(${accountsOf(outcomes)}::uuid[], ${endpointsOf(outcomes)}::uuid[]))
    order by account_id, endpoint_id for update`;
  const decides = tx`(d.run = o.run and (d.status = 'pending' or o.status = 'delivered'))`;
  const isNew = mayBeWritten
    ? tx`where not exists (
        select from tries t where t.account_id = o.account_id and t.delivery_id = o.delivery_id and t.at = o.at)`
    : tx``;
  const again = mayBeWritten ? tx`union all select account_id, endpoint_id, now from given` : tx``;
  const writing = tx<{ id: string }[]>`
    with given as (
      select * from unnest(
        ${outcomes.map((one) => one.accountId)}::uuid[], ${outcomes.map((one) => one.endpointId)}::uuid[],
        ${outcomes.map((one) => one.deliveryId)}::uuid[], ${outcomes.map((one) => one.run)}::int[],
        ${outcomes.map((one) => one.at.toISOString())}::timestamptz[], ${outcomes.map((one) => one.url)}::text[],
        ${outcomes.map((one) => one.httpStatus)}::smallint[], ${outcomes.map((one) => one.error)}::text[],
        ${outcomes.map((one) => one.body)}::text[], ${outcomes.map((one) => one.durationMs)}::int[],
        ${outcomes.map((one) => String(one.isManual))}::text[]::boolean[], ${outcomes.map((one) => one.status)}::text[],
        ${outcomes.map((one) => one.reason)}::text[],
        ${outcomes.map((one) => one.nextTryAt?.toISOString() ?? null)}::timestamptz[],
        ${outcomes.map((one) => String(one.disable !== null))}::text[]::boolean[],
        ${outcomes.map((one) => nowOf(one).toISOString())}::text[]::timestamptz[]
      ) as o (account_id, endpoint_id, delivery_id, run, at, url, http_status, error, body, duration_ms, is_manual, status,
        reason, next_try_at, disables, now)
    ), outcome as (
      select * from given o ${isNew}
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
      select account_id, endpoint_id, now from outcome where disables
      ${again}
    ) as due
    group by account_id, endpoint_id order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1
    returning endpoint_id as id`;
  const [, queues] = await Promise.all([locking, writing]);
  return queues.map(({ id }) => id);
}
