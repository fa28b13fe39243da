import { rowsOfScope, type Scope } from '../clocks/scope.ts';
import type { Sql } from '../database/database.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { dueRows, type KeyedRows, laneOf, minLookedAt, nextLanes } from './due-rows.ts';
import { type Lane, laneName, type Room } from './fair-slots.ts';

/** A selection of due rows: within which scope, at what time of it, and how many. */
export interface Turn {
  sql: Sql;
  now: Date;
  scope: Scope;
  room: Room;
}

interface FinderOptions {
  /** Rows go by the real time, whatever the clock of their account. */
  isByRealTime?: boolean | undefined;
  /** Minimum time between looks for lanes, in milliseconds; 0 unless given. */
  lanesEveryMs?: number;
}

/** Rows that a statement took of a selection; `isCut` where it left some of them, since they are large. */
export interface Taken<Row> {
  rows: readonly Row[];
  isCut?: boolean;
}

/**
 * Selects due rows for one loop: those that have been due longest and, where these may hide others, those of the next lanes in turn. So
 * one account delays no other, however much of it is due. Of paused accounts and endpoints nothing is read. The table needs an index
 * on its due column, and one on account and due column.
 */
export class RowFinder {
  readonly #table: KeyedRows;
  readonly #options: FinderOptions;
  #lastLane: Lane | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Rows of other lanes may be due behind those that were found last. */
  #hidesOthers = false;
  /** The last look for lanes found nothing, and has not come to the end. */
  #isLooking = false;

  constructor(table: KeyedRows, options: FinderOptions = {}) {
    this.#table = table;
    this.#options = options;
  }

  /**
   * Has `take` claim the rows whose keys a fragment selects; returns these rows, and whether more may be due. A scope of one account has
   * no turns: its rows are those that have been due longest.
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
    // If this look fails, the next one takes those that have been due longest.
    this.#hidesOthers = false;
    this.#isLooking = false;
    // No more lanes than rows: of more, those that have been due longest would be chosen each time.
    const { due, last } = await nextLanes(sql, table, now, { last: this.#lastLane, most: room.limit });
    const known = new Map(room.lanes.map((one) => [laneName(one.lane), one]));
    const free = Math.min(room.perLane, Math.ceil(room.limit / Math.max(1, due.length)));
    const lanes = due
      .filter(({ account_id }) => !scope.accounts.includes(account_id))
      .map((lane) => known.get(laneName(lane)) ?? { lane, running: 0, free });
    const selection = { room: { ...room, lanes }, now, from: 'lanes' } as const;
    const { rows, isCut } = lanes.length > 0 ? await take(dueRows(sql, table, selection)) : { rows: [] };
    // Where a batch is cut short the lanes that got nothing come first the next time.
    this.#lastLane = isCut ? lastOf(this.#lanesOf(rows)) : last;
    this.#isLooking = rows.length === 0 && last !== undefined;
    this.#hidesOthers = this.#isLooking;
    return { rows, hasMore: rows.length > 0 || last !== undefined };
  }
}

/** Returns the room of a job for a batch: rows of any lane, as many as it takes. */
export function batchOf(limit: number): Room {
  return { limit, kept: 0, perLane: limit, lanes: [] };
}

/**
 * Returns whether a look at the rows that have been due longest may have left others out: it found as many as it looks for, or as many of a
 * lane as that may have.
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
