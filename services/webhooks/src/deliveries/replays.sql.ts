import type { Paused, Sql } from '@customer-platform/service-kit';

export interface ReplayRow {
  account_id: string;
  id: string;
  endpoint_id: string;
  since: Date;
  until: Date;
  includes_delivered: boolean;
  status: 'running' | 'completed' | 'failed';
  matched: number;
  done: number;
  cursor_at: Date | null;
  cursor_id: string | null;
}

const columns = (sql: Sql) =>
  sql`account_id, id, endpoint_id, since, until, includes_delivered, status, matched, done, cursor_at, cursor_id`;

type Period = Pick<ReplayRow, 'account_id' | 'endpoint_id' | 'since' | 'until' | 'includes_delivered'>;

/**
 * The deliveries of a period that a replay is about: those that failed or were skipped and those that wait after a failed try,
 * or all where asked for, whatever their state.
 */
const inPeriod = (sql: Sql, period: Period) => sql`
  account_id = ${period.account_id} and endpoint_id = ${period.endpoint_id}
  and created_at >= ${period.since} and created_at < ${period.until}
  ${period.includes_delivered ? sql`` : sql`and (status in ('failed', 'skipped') or (status = 'pending' and step > 0))`}`;

/** Begins a replay and counts what it is about. One about nothing is completed at once. */
export async function insertReplay(tx: Sql, period: Period, now: Date) {
  const { account_id, endpoint_id, since, until, includes_delivered } = period;
  const [row] = await tx<ReplayRow[]>`
    with matched as (select count(*)::int as count from deliveries where ${inPeriod(tx, period)})
    insert into replays (account_id, endpoint_id, since, until, includes_delivered, status, matched, rests_until, created_at)
    select ${account_id}, ${endpoint_id}, ${since}, ${until}, ${includes_delivered},
      case when count = 0 then 'completed' else 'running' end, count, ${now}, ${now}
    from matched returning ${columns(tx)}`;
  return row!;
}

/** Reads a replay of an endpoint that there is. */
export async function findReplay(sql: Sql, accountId: string, endpointId: string, id: string) {
  const [row] = await sql<ReplayRow[]>`
    select ${columns(sql)} from replays r where account_id = ${accountId} and id = ${id} and endpoint_id = ${endpointId}
      and exists (select from endpoints e where e.account_id = r.account_id and e.id = r.endpoint_id)`;
  return row;
}

/** Takes the running replay that has rested for longest, none of what operators paused; it is this transaction's until it ends. */
export async function takeReplay(tx: Sql, now: Date, { accounts, endpoints }: Paused) {
  const [row] = await tx<ReplayRow[]>`
    select ${columns(tx)} from replays where status = 'running' and rests_until <= ${now} and account_id <> all(${[...accounts]}::uuid[])
      and endpoint_id <> all(${[...endpoints]}::uuid[])
    order by rests_until limit 1 for update skip locked`;
  return row;
}

/** The next deliveries of a replay, oldest first, at most `limit`; `is_begun` says that its first try is due or under way. */
export async function nextOfReplay(tx: Sql, replay: ReplayRow, now: Date, limit: number) {
  const { cursor_at, cursor_id } = replay;
  return await tx<{ id: string; created_at: Date; is_begun: boolean }[]>`
    select id, created_at, status = 'pending' and step = 0 and next_try_at <= ${now} as is_begun from deliveries
    where ${inPeriod(tx, replay)} ${cursor_id === null ? tx`` : tx`and (created_at, id) > (${cursor_at}, ${cursor_id})`}
    order by created_at, id limit ${limit} for update`;
}

/** Writes how far a replay is and until when it rests. */
export async function updateReplay(
  tx: Sql,
  replay: ReplayRow,
  progress: Pick<ReplayRow, 'status' | 'done' | 'cursor_at' | 'cursor_id'>,
  restsUntil: Date,
) {
  await tx`
    update replays set ${tx(progress, 'status', 'done', 'cursor_at', 'cursor_id')}, rests_until = ${restsUntil}
    where account_id = ${replay.account_id} and id = ${replay.id}`;
}

/** How many deliveries of an endpoint are due, counted up to `limit`. */
export async function countDue(tx: Sql, accountId: string, endpointId: string, now: Date, limit: number) {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from (
      select from deliveries
      where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'pending' and next_try_at <= ${now}
      limit ${limit}
    ) as due`;
  return row!.count;
}

/** Deletes at most `limit` replays that are older than `oldest`; answers how many. */
export async function deleteOldReplays(tx: Sql, oldest: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from replays where (account_id, id) in (
      select account_id, id from replays where created_at <= ${oldest} order by created_at limit ${limit})`;
  return result.count;
}
