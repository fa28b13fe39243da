import type { Database, Sql } from '../database/database.ts';
import { isOfAccount } from '../database/of-account.sql.ts';
import { type Fragment, filter, joined, ofAccounts, ofRows, type QueueRows } from '../database/queue-rows.ts';
import type { KnownLane, Lane, Room } from './fair-slots.ts';

/** Rows of a queue with the columns of their primary key and its types; rows are read with the same names. */
export interface KeyedRows extends QueueRows {
  key: Readonly<Record<string, 'uuid' | 'bigint' | 'smallint'>>;
  /** A selection does not lock them, since their work locks rows of another table first. */
  isUnlocked?: boolean;
  /** Lanes are the channels of accounts, in the column `channel`; otherwise an account is one lane. */
  hasChannels?: boolean;
}

/** Table of a queue that the engine runs. */
export interface DueTable extends KeyedRows {
  /** The column that counts attempts. */
  attempts: string;
  error: string;
}

/** Sets the columns that a claim sets: the end of the lease, one more attempt, and no error while it runs. */
export function claimed(sql: Sql, { due, attempts, error }: DueTable, leasedUntil: Date): Fragment {
  return sql`${sql(due)} = ${leasedUntil}, ${sql(attempts)} = ${sql(attempts)} + 1, ${sql(error)} = null`;
}

/** Condition of a row that waits after a failed attempt: one that runs has no error. */
export const hasFailed = (column: string) => (sql: Sql) => sql`${sql(column)} is not null`;

/** Due rows looked at in one statement, and lanes looked at in one: at least and at most, in between four for each that is claimed. */
export const minLookedAt = 50;
const maxLookedAt = 200;

/**
 * Selects the keys of rows to claim, firsts of their lanes before seconds and so on, at most what `room` says, and locks them, passing
 * over those that are locked. It looks at up to 200 that have been due longest, or as many as it may select, whoever they belong to, or only
 * at those of `room.lanes`.
 */
export function dueRows(
  sql: Sql,
  table: KeyedRows,
  { room, now, from }: { room: Room; now: Date; from: 'longest due' | 'lanes' },
): Fragment {
  const key = Object.keys(table.key);
  const lane = laneColumns(table);
  const looked = from === 'lanes' ? dueOfLanes(sql, table, now, room) : longestLooked(sql, table, now, room.limit);
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

function longestLooked(sql: Sql, table: KeyedRows, now: Date, most: number): Fragment {
  const looked = Math.max(most, Math.min(Math.max(most * 4, minLookedAt), maxLookedAt));
  return sql`
    select ${sql(lookedColumns(table))}, ${sql(table.due)} as due_since from ${sql(table.name)}
    where ${sql(table.due)} <= ${now} ${filter(sql, table)} order by ${sql(table.due)} limit ${looked}`;
}

/** Selects what is due of each lane, up to what it has free: nothing of others is read. */
function dueOfLanes(sql: Sql, table: KeyedRows, now: Date, room: Room): Fragment {
  return sql`
    select due.* from ${lanes(sql, table, room.lanes)} as known cross join lateral (
      select ${sql(lookedColumns(table).map((column) => `t.${column}`))}, t.${sql(table.due)} as due_since
      from ${sql(table.name)} as t
      where ${isOfLane(sql, table, 'known')} and t.${sql(table.due)} <= ${now} ${filter(sql, table)}
      order by t.${sql(table.due)} limit known.free
    ) as due`;
}

function lookedColumns(table: KeyedRows): string[] {
  return [...new Set([...Object.keys(table.key), ...laneColumns(table)])];
}

/** Lanes that were looked at, in their order, and whether each has a row that is due. */
export interface LanesLook {
  /** Those with due rows. */
  due: Lane[];
  /** The last that was looked at; undefined where the look came to the end: the next one begins again. */
  last: Lane | undefined;
}

/**
 * Looks for lanes with due rows after `last`: at most `most` of those, among 200 lanes with rows at most, found one from the other by the index. What is
 * said of accounts is asked of each lane: of its rows it would be asked of all, however many an account has that is left out.
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

/** A row under lease, as it was claimed. */
export interface LeasedRow {
  readonly row: Readonly<Record<string, unknown>>;
  leasedUntil: Date;
}

/** The lease of a run that is to hold until a later time. */
export interface Renewal<Run extends LeasedRow> {
  run: Run;
  until: Date;
}

/**
 * Moves leases on and returns the runs whose rows are still this process's. Waits for no lock: a row that another transaction is writing
 * keeps the lease that it has, and its run is returned.
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
      update ${sql(table.name)} t set ${sql(table.due)} = held.until from held where ${isSame(sql, key, 'held')} returning held.place
    )
    select mine.place, renewed.place is not null as is_renewed from mine left join renewed using (place)`;
  return kept.map(({ place, is_renewed }) => {
    const { run, until } = renewals[place - 1]!;
    if (is_renewed) run.leasedUntil = until;
    return run;
  });
}

/** A row that is to be run again, and whether the attempt counts. */
export interface PutBack extends LeasedRow {
  dueAt: Date;
  counts: boolean;
  /** Why the attempt failed; null where it was given back. */
  error: string | null;
}

/** Has rows run again later, but not those of which the lease was lost: somebody else has them, or they changed. */
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
    where ${isSame(sql, key, 'later')} and t.${sql(table.due)} = later.leased_until`;
}

/** Returns the lane of a row. */
export function laneOf({ hasChannels }: KeyedRows, { account_id, channel }: Lane): Lane {
  return hasChannels && channel !== undefined ? { account_id, channel } : { account_id };
}

function laneColumns({ hasChannels }: KeyedRows): string[] {
  return hasChannels ? ['account_id', 'channel'] : ['account_id'];
}

/** Condition that a row `t` is of a lane of another relation. */
function isOfLane(sql: Sql, { hasChannels }: KeyedRows, other: string): Fragment {
  const ofAccount = isOfAccount(sql, 't.account_id', `${other}.account_id`);
  return hasChannels ? sql`${ofAccount} and t.channel = ${sql(`${other}.channel`)}` : ofAccount;
}

/** Lanes as a relation: account_id, channel where the table has them, running, free. */
function lanes(sql: Sql, table: KeyedRows, known: readonly KnownLane[]): Fragment {
  return sql`(
    select known.account_id ${table.hasChannels ? sql`, known.channel` : sql``}, known.running, known.free
    from unnest(${known.map(({ lane }) => lane.account_id)}::uuid[], ${known.map(({ lane }) => lane.channel ?? '')}::text[],
      ${known.map(({ running }) => running)}::integer[], ${known.map(({ free }) => free)}::integer[])
      as known (account_id, channel, running, free))`;
}

/** Leases as a relation: place from 1 on, the columns of the key, leased_until. */
function leasedRows(sql: Sql, table: DueTable, leased: readonly LeasedRow[]): Fragment {
  const columns = Object.entries(table.key).map(
    ([column, type]) => sql`${leased.map(({ row }) => String(row[column]))}::text[]::${sql.unsafe(type)}[]`,
  );
  return sql`(
    select place, ${sql(Object.keys(table.key))}, leased_until
    from unnest(${joined(sql, columns, sql`, `)}, ${leased.map(({ leasedUntil }) => leasedUntil.toISOString())}::text[]::timestamptz[])
      with ordinality as leased (${sql(Object.keys(table.key))}, leased_until, place))`;
}

function isSame(sql: Sql, key: readonly string[], other: string): Fragment {
  const isEqual = key.map((column) => sql`t.${sql(column)} = ${sql(`${other}.${column}`)}`);
  return joined(sql, isEqual, sql` and `);
}
