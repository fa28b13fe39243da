import type { OwnerDepth, QueuePart } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import { type Fragment, filter, joined, type QueueRows } from '../database/queue-rows.ts';
import { noAccount } from '../values/no-account.ts';

/** Numbers of entries in a queue. */
export interface Depth {
  /** Due, including paused ones. */
  ready: number;
  /** Due later, including those that run under a lease. */
  later?: number;
  /** Those of `later` that wait after a failure; null if no entry of the queue ever does. */
  failedLater?: number | null;
  dead?: number;
  oldest: Date | null;
}

/** Maximum number of rows read to count failures without an index of them. The index on due times yields the next due rows. */
const maxLookedAt = 10_000;

/** Returns the column that counts rows waiting after a failure. Without an index of failures, counts only the next due rows. */
function failedLater(sql: Sql, rows: QueueRows, now: Date): Fragment {
  const { due, failed, countsFailed } = rows;
  if (!failed) return sql`null::float8`;
  if (countsFailed) return sql`count(*) filter (where ${sql(due)} > ${now} and ${failed(sql)})::float8`;
  const next = sql`
    select * from ${sql(rows.name)} where ${sql(due)} > ${now} ${filter(sql, rows)} order by ${sql(due)} limit ${maxLookedAt}`;
  return sql`(select count(*) from (${next}) as next where ${failed(sql)})::float8`;
}

/** Maximum number of rows of a queue that are counted, so that the reply comes in time. A deeper queue has at least as many. */
const maxCounted = 2_000_000;

/** Counts the rows of a queue, at most `maxCounted`. */
export async function measureRows(sql: Sql, rows: QueueRows, now: Date): Promise<Depth> {
  const due = sql(rows.due);
  const [depth] = await sql<Depth[]>`
    select count(*) filter (where ${due} <= ${now})::float8 as ready, count(*) filter (where ${due} > ${now})::float8 as later,
      ${failedLater(sql, rows, now)} as "failedLater", min(${due}) as oldest
    from (select * from ${sql(rows.name)} where ${due} is not null ${filter(sql, rows)} limit ${maxCounted}) as counted`;
  return depth!;
}

/** Failed events as entries of their queues. An event that a pause holds counts as due, whatever its due time. */
const failedEvents = (sql: Sql) => sql`
  select queue, account_id, null::uuid as endpoint, case when due_at = 'infinity' then first_at else due_at end as due,
    due_at <> 'infinity' and last_error is not null as has_failed, dead_at is not null as is_dead, reason as error
  from failed_events`;

/** Columns that count entries. */
const depthOf = (sql: Sql, now: Date) => sql`
  count(*) filter (where due <= ${now})::float8 as ready, count(*) filter (where due > ${now})::float8 as later,
  count(*) filter (where due > ${now} and has_failed)::float8 as "failedLater",
  count(*) filter (where is_dead)::float8 as dead, min(due) as oldest`;

/** Counts the failed events of each queue. */
export async function measureFailedEvents(sql: Sql, now: Date): Promise<Map<string, Depth>> {
  const rows = await sql<(Depth & { queue: string })[]>`
    select queue, ${depthOf(sql, now)} from (${failedEvents(sql)}) as entry group by queue`;
  return new Map(rows.map((row) => [row.queue, row]));
}

/** Counts rows of tables and failed events of the queue `failedOf` by account or endpoint. Returns the 100 deepest first. */
export async function selectOwners(
  sql: Sql,
  rows: readonly QueueRows[],
  { now, by, failedOf = null }: { now: Date; by: 'account' | 'endpoint'; failedOf?: string | null },
): Promise<OwnerDepth[]> {
  const entries = rows.map((one) => {
    const endpoint = by === 'endpoint' && one.endpoint ? sql(one.endpoint) : sql`null::uuid`;
    return sql`
      select account_id, ${endpoint} as endpoint, ${sql(one.due)} as due, ${one.failed?.(sql) ?? sql`false`} as has_failed, false as is_dead,
        ${one.error ? sql(one.error) : sql`null::text`} as error
      from ${sql(one.name)} where ${sql(one.due)} is not null ${filter(sql, one)}`;
  });
  const failed = sql`
    select account_id, endpoint, due, has_failed, is_dead, error from (${failedEvents(sql)}) as entry
    where queue = ${failedOf} and account_id <> ${noAccount}`;
  const owners = await sql<(Omit<OwnerDepth, 'oldestAt' | 'failingSince'> & Pick<Depth, 'oldest'>)[]>`
    select account_id as account, endpoint, ${depthOf(sql, now)}, max(error) as "lastError"
    from (${joined(sql, [...entries, failed], sql` union all `)}) as entry
    group by 1, 2 order by count(*) desc, 1, 2 limit 100`;
  return owners.map(({ oldest, ...owner }) => ({
    ...owner,
    oldestAt: oldest?.toISOString() ?? null,
    failingSince: null,
  }));
}

const isOfPart = (sql: Sql, { account, endpoint }: QueuePart, endpointColumn?: string): Fragment =>
  sql`${account ? sql`and account_id = ${account}` : sql``} ${endpoint && endpointColumn ? sql`and ${sql(endpointColumn)} = ${endpoint}` : sql``}`;

/** Maximum number of rows that one statement of a retry or resume changes. */
export const maxMoved = 5_000;

/** Counts the rows that wait after a failure. */
export async function countFailedRows(sql: Sql, rows: QueueRows, part: QueuePart, now: Date): Promise<number> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*) from ${sql(rows.name)} where ${isRetryable(sql, rows, part, now)}`;
  return counted!.count;
}

/** Makes rows that wait after a failure due now, at most `maxMoved`; returns their number. */
export async function retryRows(tx: Sql, rows: QueueRows, part: QueuePart, now: Date): Promise<number> {
  const retried = await tx`
    update ${tx(rows.name)} set ${tx(rows.due)} = ${now}
    where ctid = any(array(
      select ctid from ${tx(rows.name)} where ${isRetryable(tx, rows, part, now)} limit ${maxMoved} for update skip locked))`;
  return retried.count;
}

const isRetryable = (sql: Sql, rows: QueueRows, part: QueuePart, now: Date) => sql`
  ${sql(rows.due)} > ${now} and ${rows.failed!(sql)} ${filter(sql, rows)} ${isOfPart(sql, part, rows.endpoint)}`;

/** Failed events of a consumer that an operator may retry. Events that a pause holds continue when it ends. */
export const failedEventsOf = (queue: string): QueueRows => ({
  name: 'failed_events',
  due: 'due_at',
  where: (sql) => sql`queue = ${queue} and dead_at is null and due_at <> 'infinity'`,
  failed: (sql) => sql`last_error is not null`,
});

/** Makes events held by a pause that has ended due now, at most `maxMoved`; returns their number. */
export async function resumeFailedEvents(tx: Sql, now: Date): Promise<number> {
  const resumed = await tx`
    update failed_events set due_at = ${now}, first_at = case when tries = 0 then ${now} else first_at end
    where ctid = any(array(
      select f.ctid from failed_events f
      where f.dead_at is null and f.due_at = 'infinity' and not exists (
        select from queue_pauses p where p.queue = f.queue and p.account_id in (f.account_id, ${noAccount}) and p.endpoint_id = ${noAccount})
      limit ${maxMoved} for update skip locked))`;
  return resumed.count;
}

/** A pause and the part of the queue that it holds: the whole queue if account and endpoint are null. */
export interface PauseRow {
  queue: string;
  account: string | null;
  endpoint: string | null;
  reason: string;
  actor: string;
  at: Date;
}

export async function selectPauses(sql: Sql): Promise<PauseRow[]> {
  return await sql<PauseRow[]>`
    select queue, nullif(account_id, ${noAccount}) as account, nullif(endpoint_id, ${noAccount}) as endpoint, reason, actor,
      paused_at as at
    from queue_pauses order by paused_at, queue, account_id, endpoint_id`;
}

/** Writes a pause; returns false if that part was paused already. */
export async function insertPause(tx: Sql, part: QueuePart, pause: Pick<PauseRow, 'reason' | 'actor' | 'at'>) {
  const { queue, account = noAccount, endpoint = noAccount } = part;
  const { reason, actor, at } = pause;
  const inserted = await tx`
    insert into queue_pauses (account_id, queue, endpoint_id, reason, actor, paused_at)
    values (${account}, ${queue}, ${endpoint}, ${reason}, ${actor}, ${at}) on conflict do nothing`;
  return inserted.count === 1;
}

/** Deletes the pause of exactly this part and returns it; undefined if none exists. */
export async function deletePause(tx: Sql, { queue, account = noAccount, endpoint = noAccount }: QueuePart) {
  const [deleted] = await tx<Pick<PauseRow, 'reason' | 'actor'>[]>`
    delete from queue_pauses where account_id = ${account} and queue = ${queue} and endpoint_id = ${endpoint}
    returning reason, actor`;
  return deleted;
}
