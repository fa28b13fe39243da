import type { Database, Sql } from '../database/database.ts';
import { isOfAccount } from '../database/of-account.sql.ts';
import { type Fragment, filter, joined, ofAccounts, ofRows, type QueueRows } from '../database/queue-rows.ts';
import type { KnownLane, Lane, Room } from './fair-slots.ts';

/** Rows of a queue, with the columns and types of their primary key. Rows are read under the same names. */
export interface KeyedRows extends QueueRows {
  key: Readonly<Record<string, 'uuid' | 'bigint' | 'smallint'>>;
  /** A selection does not lock these rows, since their work locks rows of another table first. */
  isUnlocked?: boolean;
  /** A lane is a channel of an account, in the column `channel`; otherwise it is an account. */
  hasChannels?: boolean;
}

/** Table of a queue that a `WorkQueue` runs. */
export interface DueTable extends KeyedRows {
  /** The column that counts attempts. */
  attempts: string;
  error: string;
}

/** Returns the assignments of a claim: the end of the lease, one more attempt, and no error. */
export function claimed(sql: Sql, { due, attempts, error }: DueTable, leasedUntil: Date): Fragment {
  return sql`${sql(due)} = ${leasedUntil}, ${sql(attempts)} = ${sql(attempts)} + 1, ${sql(error)} = null`;
}

/** Condition of a row that waits after a failed attempt. A running row has no error. */
export const hasFailed = (column: string) => (sql: Sql) => sql`${sql(column)} is not null`;

/** Minimum and maximum number of due rows or lanes that one statement looks at. In between, it looks at four for each row to claim. */
export const minLookedAt = 50;
const maxLookedAt = 200;

/**
 * Selects the keys of rows to claim, at most what `room` allows, and locks the rows, skipping locked ones. The first row of each lane comes before
 * any second row. It looks at up to 200 rows that have been due longest, of any lane, or at `room.limit` rows if that is more. With 'lanes' it
 * looks only at rows of `room.lanes`.
 */
export function dueRows(
  sql: Sql,
  table: KeyedRows,
  { room, now, from }: { room: Room; now: Date; from: 'longest due' | 'lanes' },
): Fragment {
  const key = Object.keys(table.key);
  const lane = laneColumns(table);
  const looked = from === 'lanes' ? dueOfLanes(sql, table, now, room) : longestDue(sql, table, now, room.limit);
  return sql`
    select ${sql(key.map((column) => `t.${column}`))} from (
      select counted.*, row_number() over (order by counted.nth, counted.due_since) as place from (
        select looked.*, coalesce(known.running + known.free, ${room.perLane}) as most,
          coalesce(known.running, 0) + row_number() over (
            partition by ${sql(lane.map((column) => `looked.${column}`))} order by looked.due_since, ${sql(key.map((column) => `looked.${column}`))}) as nth
        from (${looked}) as looked left join ${lanes(sql, table, room.lanes)} as known using (${sql(lane)})
      ) as counted where counted.nth <= counted.most
    ) as ranked join ${sql(table.name)} as t using (${sql(key)})
    where t.${sql(table.due)} <= ${now} ${ofRows(sql, table)} and (ranked.nth = 1 or ranked.place <= ${room.limit - room.kept})
    order by ranked.place limit ${room.limit} ${table.isUnlocked ? sql`` : sql`for update of t skip locked`}`;
}

function longestDue(sql: Sql, table: KeyedRows, now: Date, most: number): Fragment {
  const looked = Math.max(most, Math.min(Math.max(most * 4, minLookedAt), maxLookedAt));
  return sql`
    select ${sql(keyAndLaneColumns(table))}, ${sql(table.due)} as due_since from ${sql(table.name)}
    where ${sql(table.due)} <= ${now} ${filter(sql, table)} order by ${sql(table.due)} limit ${looked}`;
}

/** Selects the due rows of each lane, at most as many as the lane has free. Reads no rows of other lanes. */
function dueOfLanes(sql: Sql, table: KeyedRows, now: Date, room: Room): Fragment {
  return sql`
    select due.* from ${lanes(sql, table, room.lanes)} as known cross join lateral (
      select ${sql(keyAndLaneColumns(table).map((column) => `t.${column}`))}, t.${sql(table.due)} as due_since
      from ${sql(table.name)} as t
      where ${isOfLane(sql, table, 'known')} and t.${sql(table.due)} <= ${now} ${filter(sql, table)}
      order by t.${sql(table.due)} limit known.free
    ) as due`;
}

function keyAndLaneColumns(table: KeyedRows): string[] {
  return [...new Set([...Object.keys(table.key), ...laneColumns(table)])];
}

/** Lanes that were looked at, in order, and which of them have due rows. */
export interface LanesLook {
  /** The lanes with due rows. */
  due: Lane[];
  /** The last lane looked at; undefined if the look reached the end, so that the next one starts over. */
  last: Lane | undefined;
}

/**
 * Finds at most `most` lanes with due rows after `last`. It looks at no more than 200 lanes, and finds each by an index probe. The condition on
 * accounts is checked once per lane. Checked per row, an excluded account with many rows would cost a check for each.
 */
export async function nextLanes(
  sql: Sql,
  table: KeyedRows,
  now: Date,
  { last, most = maxLookedAt }: { last: Lane | undefined; most?: number },
): Promise<LanesLook> {
  const columns = sql(laneColumns(table));
  const next = (after: Fragment) => sql`
    select n.*, exists (
      select from ${sql(table.name)} as t where ${isOfLane(sql, table, 'n')} and t.${sql(table.due)} <= ${now} ${ofRows(sql, table)})
      ${ofAccounts(sql, table, sql`n.account_id`)} as is_due
    from (
      select ${columns} from ${sql(table.name)}
      where ${sql(table.due)} is not null ${ofRows(sql, table)} and (${columns}) > (${after}) order by ${columns} limit 1) as n`;
  const { account_id = '00000000-0000-0000-0000-000000000000', channel = '' } = last ?? {};
  const start = table.hasChannels ? sql`${account_id}::uuid, ${channel}` : sql`${account_id}::uuid`;
  const ofLast = table.hasChannels ? sql`l.account_id, l.channel` : sql`l.account_id`;
  const rows = await sql<(Lane & { is_due: boolean })[]>`
    with recursive lanes as (
      select n.*, 1 as place, n.is_due::int as found from (${next(start)}) as n
      union all
      select n.*, l.place + 1, l.found + n.is_due::int from lanes l cross join lateral (${next(ofLast)}) as n
      where l.place < ${maxLookedAt} and l.found < ${most}
    )
    select ${columns}, is_due from lanes order by place`;
  const due = rows.filter(({ is_due }) => is_due).map(({ is_due: _, ...lane }): Lane => lane);
  const isAtEnd = rows.length < maxLookedAt && due.length < most;
  return { due, last: isAtEnd ? undefined : rows.at(-1) };
}

/** A claimed row and its lease. */
export interface LeasedRow {
  readonly row: Readonly<Record<string, unknown>>;
  leasedUntil: Date;
}

/** A run whose lease is extended, and the new end of that lease. */
export interface Renewal<Run extends LeasedRow> {
  run: Run;
  until: Date;
}

/**
 * Extends leases and returns the runs whose rows this process still holds. Waits for no lock: a row that another transaction is writing keeps
 * its current lease, and its run is returned.
 */
export async function renewLeases<Run extends LeasedRow>(
  sql: Database,
  table: DueTable,
  renewals: readonly Renewal<Run>[],
): Promise<Run[]> {
  if (renewals.length === 0) return [];
  const key = Object.keys(table.key);
  const runs = renewals.map(({ run }) => run);
  const untils = sql`${renewals.map(({ until }) => until.toISOString())}::text[]::timestamptz[]`;
  const kept = await sql<{ place: number; is_renewed: boolean }[]>`
    with mine as (
      select mine.*, later.until from ${leasedRows(sql, table, runs)} as mine join ${sql(table.name)} as t using (${sql(key)})
        join unnest(${untils}) with ordinality as later (until, place) using (place)
      where t.${sql(table.due)} = mine.leased_until
    ), held as (
      select ${sql(key.map((column) => `t.${column}`))}, mine.place, mine.until from mine join ${sql(table.name)} as t using (${sql(key)})
      where t.${sql(table.due)} = mine.leased_until for update of t skip locked
    ), renewed as (
      update ${sql(table.name)} t set ${sql(table.due)} = held.until from held where ${hasSameKey(sql, key, 'held')} returning held.place
    )
    select mine.place, renewed.place is not null as is_renewed from mine left join renewed using (place)`;
  return kept.map(({ place, is_renewed }) => {
    const { run, until } = renewals[place - 1]!;
    if (is_renewed) run.leasedUntil = until;
    return run;
  });
}

/** A row to run again, and whether its attempt counts. */
export interface PutBack extends LeasedRow {
  dueAt: Date;
  counts: boolean;
  /** Why the attempt failed; null if the row was given back. */
  error: string | null;
}

/** Schedules rows to run again, except those whose lease was lost: another process has claimed them, or they have changed. */
export async function putBack(sql: Sql, table: DueTable, rows: readonly PutBack[]): Promise<void> {
  const key = Object.keys(table.key);
  const dueAt = sql`${rows.map((one) => one.dueAt.toISOString())}::text[]::timestamptz[]`;
  const uncounted = sql`${rows.map(({ counts }) => (counts ? 0 : 1))}::integer[]`;
  const errors = sql`${rows.map(({ error }) => error)}::text[]`;
  await sql`
    update ${sql(table.name)} t set ${sql(table.due)} = later.due_at, ${sql(table.attempts)} = t.${sql(table.attempts)} - later.uncounted,
      ${sql(table.error)} = later.error
    from (
      select mine.*, more.due_at, more.uncounted, more.error from ${leasedRows(sql, table, rows)} as mine
      join unnest(${dueAt}, ${uncounted}, ${errors}) with ordinality as more (due_at, uncounted, error, place) using (place)
    ) as later
    where ${hasSameKey(sql, key, 'later')} and t.${sql(table.due)} = later.leased_until`;
}

/** Returns the lane of a row. */
export function laneOf({ hasChannels }: KeyedRows, { account_id, channel }: Lane): Lane {
  return hasChannels && channel !== undefined ? { account_id, channel } : { account_id };
}

function laneColumns({ hasChannels }: KeyedRows): string[] {
  return hasChannels ? ['account_id', 'channel'] : ['account_id'];
}

/** Condition that a row `t` belongs to the lane of a row in another relation. */
function isOfLane(sql: Sql, { hasChannels }: KeyedRows, other: string): Fragment {
  const ofAccount = isOfAccount(sql, 't.account_id', `${other}.account_id`);
  return hasChannels ? sql`${ofAccount} and t.channel = ${sql(`${other}.channel`)}` : ofAccount;
}

/** Lanes as a relation with the columns account_id, channel if the table has it, running, free. */
function lanes(sql: Sql, table: KeyedRows, known: readonly KnownLane[]): Fragment {
  return sql`(
    select known.account_id ${table.hasChannels ? sql`, known.channel` : sql``}, known.running, known.free
    from unnest(${known.map(({ lane }) => lane.account_id)}::uuid[], ${known.map(({ lane }) => lane.channel ?? '')}::text[],
      ${known.map(({ running }) => running)}::integer[], ${known.map(({ free }) => free)}::integer[])
      as known (account_id, channel, running, free))`;
}

/** Leases as a relation with the columns place (from 1), the key, leased_until. */
function leasedRows(sql: Sql, table: DueTable, leased: readonly LeasedRow[]): Fragment {
  const columns = Object.entries(table.key).map(
    ([column, type]) => sql`${leased.map(({ row }) => String(row[column]))}::text[]::${sql.unsafe(type)}[]`,
  );
  return sql`(
    select place, ${sql(Object.keys(table.key))}, leased_until
    from unnest(${joined(sql, columns, sql`, `)}, ${leased.map(({ leasedUntil }) => leasedUntil.toISOString())}::text[]::timestamptz[])
      with ordinality as leased (${sql(Object.keys(table.key))}, leased_until, place))`;
}

function hasSameKey(sql: Sql, key: readonly string[], other: string): Fragment {
  const isEqual = key.map((column) => sql`t.${sql(column)} = ${sql(`${other}.${column}`)}`);
  return joined(sql, isEqual, sql` and `);
}
