import type { Fragment, KeyedRows, Look, Sql } from '@customer-platform/service-kit';
import type { QueueKey } from '../sending/dispatch.sql.ts';
import { firstOf, restarted } from './deliveries.sql.ts';

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
  /** As text: a Date has no microseconds, and a cursor without them would never pass a row that has some. */
  cursor_at: string | null;
  cursor_id: string | null;
  /** Number of times in a row that it had to wait. */
  rests: number;
}

/** Replays that are running, by the time from which they may go on. */
export const runningReplays: KeyedRows = {
  name: 'replays',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'rests_until',
  where: (sql) => sql`status = 'running'`,
  endpoint: 'endpoint_id',
};

/** Looks at the replays of an account that go on: one that rests until its endpoint has taken more holds no clock up. */
export const lookAtReplays = (sql: Sql, { account, now, endpoints }: Look) => sql`
  select exists (
    select from replays where account_id = ${account} and status = 'running' and rests = 0 and rests_until <= ${now}
      and endpoint_id <> all(${[...endpoints]}::uuid[])) as due, false as running, null::timestamptz as next`;

const columns = (sql: Sql) => sql`
  account_id, id, endpoint_id, since, until, includes_delivered, status, matched, done, cursor_at::text as cursor_at, cursor_id, rests`;

type Period = Pick<ReplayRow, 'account_id' | 'endpoint_id' | 'since' | 'until' | 'includes_delivered'>;

/** The states that a replay is about: failed, skipped, and waiting after a failed try; or all where asked for. */
const statesOf = (sql: Sql, { includes_delivered }: Pick<Period, 'includes_delivered'>): Fragment[] =>
  includes_delivered
    ? [sql`true`]
    : [sql`status = 'failed'`, sql`status = 'skipped'`, sql`status = 'pending' and step > 0`];

/** Selects of the deliveries that a replay is about, state by state: each by its index, so that none of what was delivered is read. */
function ofStates(
  sql: Sql,
  period: Period,
  oldest: Date,
  { select, rest }: { select: Fragment; rest: Fragment },
): Fragment {
  const { account_id, endpoint_id, since, until } = period;
  const parts = statesOf(sql, period).map(
    (isInState) => sql`(
      select ${select} from deliveries where account_id = ${account_id} and endpoint_id = ${endpoint_id} and ${isInState}
        and created_at >= ${since} and created_at < ${until} and created_at > ${oldest} ${rest})`,
  );
  return parts.reduce((all, part) => sql`${all} union all ${part}`);
}

/** Counts the deliveries that a replay would be about: of those that were made after `oldest`. */
export async function countMatched(sql: Sql, period: Period, oldest: Date): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select sum(count)::int as count from (${ofStates(sql, period, oldest, { select: sql`count(*)`, rest: sql`` })}) as counted`;
  return row!.count;
}

/** Keeps other new replays of an endpoint out until the transaction ends, and counts those that run. */
export async function countRunning(tx: Sql, { accountId, endpointId }: QueueKey): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`replays ${endpointId}`}, 0))`;
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from replays
    where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'running'`;
  return row!.count;
}

/** Begins a replay of so many deliveries. One of none is completed at once. `now` is the real time: it is forgotten by that, whatever its account's clock says. */
export async function insertReplay(tx: Sql, { matched, ...period }: Period & { matched: number }, now: Date) {
  const status = matched === 0 ? 'completed' : 'running';
  const [row] = await tx<ReplayRow[]>`
    insert into replays ${tx({ ...period, status, matched, rests_until: now, created_at: now })} returning ${columns(tx)}`;
  return row!;
}

/** Reads a replay of an endpoint that there is. */
export async function findReplay(sql: Sql, accountId: string, endpointId: string, id: string) {
  const [row] = await sql<ReplayRow[]>`
    select ${columns(sql)} from replays r where account_id = ${accountId} and id = ${id} and endpoint_id = ${endpointId}
      and exists (select from endpoints e where e.account_id = r.account_id and e.id = r.endpoint_id)`;
  return row;
}

/** Takes the replay that `due` selects and locks, as it is under this lock. */
export async function takeReplay(tx: Sql, due: Fragment) {
  return await tx<ReplayRow[]>`
    with due as materialized (${due})
    select ${columns(tx)} from replays join due using (account_id, id) for update of replays`;
}

/** Reads the next deliveries of a replay that were made after `oldest`, oldest first, at most `limit`. */
export async function nextOfReplay(sql: Sql, replay: ReplayRow, oldest: Date, limit: number) {
  const { cursor_at, cursor_id } = replay;
  const isNext =
    cursor_id === null ? sql`` : sql`and (created_at, id) > (${cursor_at}::text::timestamptz, ${cursor_id}::uuid)`;
  const first = {
    select: sql`id, created_at`,
    rest: sql`${isNext} order by created_at, id limit ${firstOf(sql, limit)}`,
  };
  return await sql<{ id: string; created_at: string }[]>`
    select id, created_at::text as created_at from (${ofStates(sql, replay, oldest, first)}) as next
    order by next.created_at, id limit ${limit}`;
}

/**
 * Makes deliveries of a replay due now and begins their retry schedule again: those that it is still about, now that their queue is
 * locked. One whose first try is due or under way is on its way: begun again, it could be sent twice.
 */
export async function restartOfReplay(tx: Sql, replay: ReplayRow, ids: string[], now: Date) {
  const states = statesOf(tx, replay).reduce((all, isInState) => tx`${all} or ${isInState}`);
  await tx`
    update deliveries set ${restarted(tx, now)}
    where account_id = ${replay.account_id} and id = any(${ids}::uuid[]) and (${states})
      and not (status = 'pending' and step = 0 and next_try_at <= ${now})`;
}

/** Has a replay rest for the `rests`th time in a row; how far it is stays as it is: another process may have gone on with it. */
export async function restReplay(tx: Sql, replay: ReplayRow, rests: number, until: Date) {
  await tx`
    update replays set rests = ${rests}, rests_until = ${until}
    where account_id = ${replay.account_id} and id = ${replay.id} and status = 'running'`;
}

/** Writes how far a replay is; it goes on after those that wait. */
export async function updateReplay(
  tx: Sql,
  replay: ReplayRow,
  progress: Pick<ReplayRow, 'status' | 'done' | 'cursor_at' | 'cursor_id'>,
  now: Date,
) {
  const { status, done, cursor_at, cursor_id } = progress;
  await tx`
    update replays set status = ${status}, done = ${done}, cursor_at = ${cursor_at}::text::timestamptz, cursor_id = ${cursor_id},
      rests = 0, rests_until = ${now}
    where account_id = ${replay.account_id} and id = ${replay.id}`;
}

/** Counts the deliveries of an endpoint that are due, up to `limit`. */
export async function countDue(tx: Sql, { accountId, endpointId }: QueueKey, now: Date, limit: number) {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from (
      select from deliveries
      where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'pending' and next_try_at <= ${now}
      limit ${limit}
    ) as due`;
  return row!.count;
}

/** Deletes at most `limit` replays that are older than `oldest`; returns how many. */
export async function deleteOldReplays(tx: Sql, oldest: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from replays where (account_id, id) in (
      select account_id, id from replays where created_at <= ${oldest} order by created_at limit ${limit})`;
  return result.count;
}
