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
  /** A string: a Date drops microseconds, and without them the cursor would never pass its row. */
  cursor_at: string | null;
  cursor_id: string | null;
  /** Number of pauses in a row. */
  rests: number;
}

/** Running replays by the time at which they may continue. */
export const runningReplays: KeyedRows = {
  name: 'replays',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'rests_until',
  where: (sql) => sql`status = 'running'`,
  endpoint: 'endpoint_id',
};

/** Looks at an account's replays that can continue. A replay that pauses for its endpoint is not due, so a sandbox clock does not wait for it. */
export const lookAtReplays = (sql: Sql, { account, now, endpoints }: Look) => sql`
  select exists (
    select from replays where account_id = ${account} and status = 'running' and rests = 0 and rests_until <= ${now}
      and endpoint_id <> all(${[...endpoints]}::uuid[])) as due, false as running, null::timestamptz as next`;

const columns = (sql: Sql) => sql`
  account_id, id, endpoint_id, since, until, includes_delivered, status, matched, done, cursor_at::text as cursor_at, cursor_id, rests`;

type Period = Pick<ReplayRow, 'account_id' | 'endpoint_id' | 'since' | 'until' | 'includes_delivered'>;

/** Conditions for the states that a replay covers: failed, skipped, and pending after a failed attempt; or all. */
const statesOf = (sql: Sql, { includes_delivered }: Pick<Period, 'includes_delivered'>): Fragment[] =>
  includes_delivered
    ? [sql`true`]
    : [sql`status = 'failed'`, sql`status = 'skipped'`, sql`status = 'pending' and step > 0`];

/** Selects a replay's deliveries, one query per state. Each uses its index, so that delivered rows are not read. */
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

/** Counts the deliveries created after `oldest` that a replay would cover. */
export async function countMatched(sql: Sql, period: Period, oldest: Date): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select sum(count)::int as count from (${ofStates(sql, period, oldest, { select: sql`count(*)`, rest: sql`` })}) as counted`;
  return row!.count;
}

/** Counts an endpoint's running replays, and blocks new ones until the transaction ends. */
export async function countRunning(tx: Sql, { accountId, endpointId }: QueueKey): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`replays ${endpointId}`}, 0))`;
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from replays
    where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'running'`;
  return row!.count;
}

/** Inserts a replay of `matched` deliveries, completed if there are none. `now` is the real time, because retention ignores sandbox clocks. */
export async function insertReplay(tx: Sql, { matched, ...period }: Period & { matched: number }, now: Date) {
  const status = matched === 0 ? 'completed' : 'running';
  const [row] = await tx<ReplayRow[]>`
    insert into replays ${tx({ ...period, status, matched, rests_until: now, created_at: now })} returning ${columns(tx)}`;
  return row!;
}

/** Reads a replay; returns undefined if its endpoint was deleted. */
export async function findReplay(sql: Sql, accountId: string, endpointId: string, id: string) {
  const [row] = await sql<ReplayRow[]>`
    select ${columns(sql)} from replays r where account_id = ${accountId} and id = ${id} and endpoint_id = ${endpointId}
      and exists (select from endpoints e where e.account_id = r.account_id and e.id = r.endpoint_id)`;
  return row;
}

/** Reads the replay that `due` selects, and locks its row. */
export async function takeReplay(tx: Sql, due: Fragment) {
  return await tx<ReplayRow[]>`
    with due as materialized (${due})
    select ${columns(tx)} from replays join due using (account_id, id) for update of replays`;
}

/** Reads at most `limit` next deliveries of a replay that were created after `oldest`, oldest first. */
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
 * Makes a replay's deliveries due now and restarts their retry schedules. Call it with their queue locked, since it checks their states again. Skips
 * a delivery whose first attempt is due or in flight: restarting it could send it twice.
 */
export async function restartOfReplay(tx: Sql, replay: ReplayRow, ids: string[], now: Date) {
  const states = statesOf(tx, replay).reduce((all, isInState) => tx`${all} or ${isInState}`);
  await tx`
    update deliveries set ${restarted(tx, now)}
    where account_id = ${replay.account_id} and id = any(${ids}::uuid[]) and (${states})
      and not (status = 'pending' and step = 0 and next_try_at <= ${now})`;
}

/** Pauses a replay for the `rests`th time in a row. Leaves its progress unchanged, because another process may have continued it. */
export async function pauseReplay(tx: Sql, replay: ReplayRow, rests: number, until: Date) {
  await tx`
    update replays set rests = ${rests}, rests_until = ${until}
    where account_id = ${replay.account_id} and id = ${replay.id} and status = 'running'`;
}

/** Stores a replay's progress and queues it behind the other due replays. */
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

/** Counts an endpoint's due deliveries, up to `limit`. */
export async function countDue(tx: Sql, { accountId, endpointId }: QueueKey, now: Date, limit: number) {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from (
      select from deliveries
      where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'pending' and next_try_at <= ${now}
      limit ${limit}
    ) as due`;
  return row!.count;
}

/** Deletes at most `limit` replays created at or before `oldest`, and returns how many. */
export async function deleteOldReplays(tx: Sql, oldest: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from replays where (account_id, id) in (
      select account_id, id from replays where created_at <= ${oldest} order by created_at limit ${limit})`;
  return result.count;
}
