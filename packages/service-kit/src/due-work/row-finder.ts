import { rowsOfScope, type Scope } from '../clocks/scope.ts';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { dueRows, type KeyedRows, laneOf, minLookedAt, nextLanes } from './due-rows.ts';
import { type Lane, laneName, type Room } from './fair-slots.ts';

/** One selection of due rows: its scope, the current time in that scope, and its room. */
export interface Turn {
  sql: Sql;
  now: Date;
  scope: Scope;
  room: Room;
}

interface FinderOptions {
  /** Rows are due by the real time, even if their account has a sandbox clock. */
  isByRealTime?: boolean | undefined;
  /** Minimum time between looks for lanes, in milliseconds; 0 by default. */
  lanesEveryMs?: number;
}

/** Rows that a statement took of a selection; `isCut` if it left some because they are large. */
export interface Taken<Row> {
  rows: readonly Row[];
  isCut?: boolean;
}

/**
 * Selects due rows for one loop: those due longest, or those of the next lanes if other lanes may be hidden. So no account delays
 * another, however many due rows it has. Rows of paused accounts and endpoints are never read. The table needs an index on its due column, and
 * one on account and due column.
 */
export class RowFinder {
  readonly #table: KeyedRows;
  readonly #options: FinderOptions;
  #lastLane: Lane | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Due rows of other lanes may be hidden behind those found last. */
  #hidesOthers = false;
  /** The last look for lanes found nothing and has not reached the end. */
  #isLooking = false;

  constructor(table: KeyedRows, options: FinderOptions = {}) {
    this.#table = table;
    this.#options = options;
  }

  /**
   * Calls `take` to claim the rows whose keys a fragment selects; returns these rows, and whether more may be due. In a scope of one account it
   * always selects the rows due longest.
   */
  async take<Row extends Lane>(
    turn: Turn,
    take: (due: Fragment) => Promise<Taken<Row>>,
  ): Promise<{ rows: readonly Row[]; hasMore: boolean }> {
    const { sql, now, scope, room } = turn;
    const inScope = this.#options.isByRealTime ? this.#table : rowsOfScope(this.#table, scope);
    const table = withoutEndpoints(inScope, scope.endpoints);
    const longestDue = () => take(dueRows(sql, table, { room, now, from: 'longest due' }));
    if (scope.account !== undefined) {
      const { rows } = await longestDue();
      return { rows, hasMore: rows.length > 0 };
    }
    if (scope.accounts.length === 0 && !(this.#hidesOthers && this.#mayLookForLanes)) {
      const { rows, isCut = false } = await longestDue();
      this.#hidesOthers = isCut || hidesOthers(room, this.#lanesOf(rows));
      if (rows.length > 0 || !this.#hidesOthers || !this.#mayLookForLanes)
        return { rows, hasMore: rows.length > 0 && this.#hidesOthers };
    }
    return await this.#takeOfLanes(table, turn, take);
  }

  #lanesOf(rows: readonly Lane[]): Lane[] {
    return rows.map((row) => laneOf(this.#table, row));
  }

  get #mayLookForLanes(): boolean {
    return this.#isLooking || performance.now() - this.#lookedAtMs >= (this.#options.lanesEveryMs ?? 0);
  }

  async #takeOfLanes<Row extends Lane>(
    table: KeyedRows,
    { sql, now, scope, room }: Turn,
    take: (due: Fragment) => Promise<Taken<Row>>,
  ): Promise<{ rows: readonly Row[]; hasMore: boolean }> {
    this.#lookedAtMs = performance.now();
    // If this look fails, the next one takes the rows due longest.
    this.#hidesOthers = false;
    this.#isLooking = false;
    // At most one lane per row. With more lanes, each look would choose the same rows, those due longest.
    const { due, last } = await nextLanes(sql, table, now, { last: this.#lastLane, most: room.limit });
    const known = new Map(room.lanes.map((one) => [laneName(one.lane), one]));
    const free = Math.min(room.perLane, Math.ceil(room.limit / Math.max(1, due.length)));
    const lanes = due
      .filter(({ account_id }) => !scope.accounts.includes(account_id))
      .map((lane) => known.get(laneName(lane)) ?? { lane, running: 0, free });
    const selection = { room: { ...room, lanes }, now, from: 'lanes' } as const;
    const { rows, isCut } = lanes.length > 0 ? await take(dueRows(sql, table, selection)) : { rows: [] };
    // If a batch was cut short, the lanes that got nothing come first next time.
    this.#lastLane = isCut ? lastOf(this.#lanesOf(rows)) : last;
    this.#isLooking = rows.length === 0 && last !== undefined;
    this.#hidesOthers = this.#isLooking;
    return { rows, hasMore: rows.length > 0 || last !== undefined };
  }
}

/** Returns the room for a job's batch: up to `limit` rows of any lane. */
export function batchOf(limit: number): Room {
  return { limit, kept: 0, perLane: limit, lanes: [] };
}

/**
 * Returns whether a look at the rows due longest may have missed other lanes. This is possible if it found its maximum of rows, or the maximum
 * of a lane.
 */
function hidesOthers(room: Room, lanes: readonly Lane[]): boolean {
  if (lanes.length >= Math.min(room.limit, minLookedAt) || room.lanes.some(({ free }) => free === 0)) return true;
  const free = new Map(room.lanes.map(({ lane, free: left }) => [laneName(lane), left]));
  const counts = Map.groupBy(lanes, laneName);
  return counts.entries().some(([name, { length }]) => length >= (free.get(name) ?? room.perLane));
}

function lastOf(lanes: readonly Lane[]): Lane | undefined {
  return lanes.toSorted((one, other) => (laneName(one) < laneName(other) ? -1 : 1)).at(-1);
}

/** Returns the table without the rows of some endpoints. */
function withoutEndpoints(table: KeyedRows, endpoints: readonly string[]): KeyedRows {
  const { where, endpoint } = table;
  if (endpoint === undefined || endpoints.length === 0) return table;
  const isOther = (sql: Sql) => sql`${sql(endpoint)} <> all(${[...endpoints]}::uuid[])`;
  return { ...table, where: (sql) => (where ? sql`${where(sql)} and ${isOther(sql)}` : isOther(sql)) };
}
