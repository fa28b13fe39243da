import { rowsOfScope } from '../clocks/scope.ts';
import type { Database } from '../database/database.ts';
import { type DueTable, minLookedAt, nextLanes } from './due-rows.ts';
import { type Lane, nameOf, type Room } from './fair-slots.ts';
import type { RowClock } from './row-clock.ts';

/** Minimum time between looks at lanes one by one, while the rows of others stand before them. */
export const lanesEveryMs = 20;

/** Claims rows that `room` has room for: those due longest, or only those of its lanes. */
type Begin<Begun> = (room: Room, from: 'longest due' | 'lanes') => Promise<Begun[]>;

/**
 * Finds due rows for one queue: those that have been due longest and, where these may hide others, those of the next lanes. Of paused
 * accounts nothing is read, however much they have.
 */
export class RowFinder<Begun extends { readonly lane: Lane }> {
  readonly #sql: Database;
  readonly #clock: Pick<RowClock, 'nowIn' | 'realScope'>;
  readonly #table: DueTable;
  readonly #begin: Begin<Begun>;
  #lastLane: Lane | undefined;
  #lanesAt = 0;
  /** Rows of others may be due behind those that were found last. */
  #hidesOthers = false;

  constructor(
    { sql, clock }: { sql: Database; clock: Pick<RowClock, 'nowIn' | 'realScope'> },
    table: DueTable,
    begin: Begin<Begun>,
  ) {
    this.#sql = sql;
    this.#clock = clock;
    this.#table = table;
    this.#begin = begin;
  }

  /** Claims rows; returns whether it found some, nothing, or nothing yet: then there are lanes left to look at. */
  async claim(room: Room, paused: readonly string[]): Promise<'rows' | 'more lanes' | 'nothing'> {
    if (paused.length > 0) return await this.#claimOfLanes(room, paused);
    if (!this.#hidesOthers || !this.#mayLookAtLanes()) {
      const begun = await this.#begin(room, 'longest due');
      this.#hidesOthers = hidesOthers(room, begun);
      if (begun.length > 0) return 'rows';
      if (!this.#hidesOthers) return 'nothing';
      if (!this.#mayLookAtLanes()) return 'more lanes';
    }
    this.#lanesAt = performance.now();
    // Where this look fails, the next is at those due longest.
    this.#hidesOthers = false;
    const claimed = await this.#claimOfLanes(room, []);
    this.#hidesOthers = claimed === 'more lanes';
    return claimed;
  }

  #mayLookAtLanes(): boolean {
    return performance.now() - this.#lanesAt >= lanesEveryMs;
  }

  /** Claims rows of the next lanes that have due ones, but for those of paused accounts. */
  async #claimOfLanes(room: Room, paused: readonly string[]): Promise<'rows' | 'more lanes' | 'nothing'> {
    // No more lanes than rows: of more, those that have been due longest would be chosen each time.
    const scope = this.#clock.realScope;
    const { due, last } = await nextLanes(this.#sql, rowsOfScope(this.#table, scope), this.#clock.nowIn(scope), {
      last: this.#lastLane,
      most: room.limit,
    });
    this.#lastLane = last;
    const known = new Map(room.lanes.map((one) => [nameOf(one.lane), one]));
    const lanes = due
      .filter(({ account_id }) => !paused.includes(account_id))
      .map((lane) => known.get(nameOf(lane)) ?? { lane, running: 0, free: room.perLane });
    const begun = lanes.length > 0 ? await this.#begin({ ...room, lanes }, 'lanes') : [];
    if (begun.length > 0) return 'rows';
    return last ? 'more lanes' : 'nothing';
  }
}

/**
 * Returns whether a look at the rows that have been due longest may have left others out: it found as many as it looks for, or as many of a
 * lane as that may have.
 */
function hidesOthers(room: Room, begun: readonly { readonly lane: Lane }[]): boolean {
  if (begun.length >= Math.min(room.limit, minLookedAt) || room.lanes.some(({ free }) => free === 0)) return true;
  const free = new Map(room.lanes.map(({ lane, free: left }) => [nameOf(lane), left]));
  const counts = Map.groupBy(begun, ({ lane }) => nameOf(lane));
  return counts.entries().some(([name, { length }]) => length >= (free.get(name) ?? room.perLane));
}
