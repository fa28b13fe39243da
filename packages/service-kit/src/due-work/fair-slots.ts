import { AccountSlots, type RunEnd } from './account-slots.ts';

/** Owner of work: an account, or one of its channels if the queue keeps channels apart. */
export interface Lane {
  readonly account_id: string;
  readonly channel?: string;
}

export interface SlotBounds {
  /** Maximum number of runs at once in this process. */
  most: number;
  /** Maximum number of runs at once of one lane. */
  perLane: number;
  /** The limit of a lane without a history; `perLane` by default. */
  firstPerLane?: number;
  /** The limit of a lane after a timeout; 1 by default. */
  lowestPerLane?: number;
  /** Runs that are not slow yet hold at most a quarter of the slots left by slow ones. This keeps a burst of hanging runs from taking all slots. */
  keepsSlowApart?: boolean;
  /** Runs usually take long: none counts as slow. */
  expectsSlowRuns?: boolean;
}

/** Room for one claim. */
export interface Room {
  /** Maximum number of rows. */
  limit: number;
  /** Rows of `limit` reserved for lanes with nothing running; at least `limit` reserves all. */
  kept: number;
  /** Maximum number of rows of a lane that `lanes` does not name. */
  perLane: number;
  lanes: readonly KnownLane[];
}

/** A lane with runs under way or a lowered limit; `free` more may begin. */
export interface KnownLane {
  readonly lane: Lane;
  readonly running: number;
  readonly free: number;
}

/** Fraction of all slots reserved for lanes with nothing running. */
const keptPart = 1 / 4;
/** Maximum number of idle lanes whose lowered limit is remembered. Beyond that, the lane used longest ago is forgotten. */
const maxRemembered = 1_000;

interface LaneState {
  readonly lane: Lane;
  running: number;
  limit: number;
}

/**
 * Shares the slots that one process has for one queue. As they fill up, every account's share falls, so that another account still finds a free
 * one. The limit of a lane doubles with each response, and falls to the lowest after a timeout.
 */
export class FairSlots {
  readonly #bounds: Required<Omit<SlotBounds, 'expectsSlowRuns'>>;
  readonly #lanes = new Map<string, LaneState>();
  readonly #accounts: AccountSlots;

  constructor(bounds: SlotBounds) {
    const { perLane, firstPerLane = perLane, lowestPerLane = 1, keepsSlowApart = false } = bounds;
    const first = Math.min(firstPerLane, perLane);
    this.#bounds = { ...bounds, firstPerLane: first, lowestPerLane: Math.min(lowestPerLane, first), keepsSlowApart };
    this.#accounts = new AccountSlots(bounds.most);
  }

  /** Runs under way, by account. */
  get owners(): { account: string; running: number }[] {
    return this.#accounts.owners;
  }

  /** Returns the room for new runs; undefined if none may begin. */
  room(): Room | undefined {
    const { most, firstPerLane, keepsSlowApart } = this.#bounds;
    const { free, freeOfFresh } = this.#accounts;
    const limit = keepsSlowApart ? freeOfFresh : free;
    if (limit <= 0) return undefined;
    const lanes = [...this.#lanes.values()].map((state) => {
      const { lane, running } = state;
      return {
        lane,
        running,
        free: Math.max(0, Math.min(state.limit - running, this.#accounts.freeOf(lane.account_id))),
      };
    });
    const kept = Math.max(0, Math.floor(most * keptPart) - (free - limit));
    return { limit, kept, perLane: Math.min(firstPerLane, Math.ceil(free / 4)), lanes };
  }

  begin(lane: Lane): void {
    const name = laneName(lane);
    const state = this.#lanes.get(name) ?? { lane, running: 0, limit: this.#bounds.firstPerLane };
    // Inserted again, so that the first lane of the map is the one used longest ago.
    this.#lanes.delete(name);
    this.#lanes.set(name, state);
    state.running++;
    this.#accounts.begin(lane.account_id);
  }

  /** Notes that a run of the lane has become slow. */
  slowDown({ account_id }: Lane): void {
    this.#accounts.slowDown(account_id);
  }

  end(lane: Lane, wasSlow: boolean, end: RunEnd): void {
    const name = laneName(lane);
    const state = this.#lanes.get(name);
    if (!state) throw new RangeError(`no run of lane ${name} is under way`);
    this.#accounts.end(lane.account_id, wasSlow, end);
    state.running--;
    const { perLane, firstPerLane, lowestPerLane } = this.#bounds;
    if (end === 'timeout') state.limit = lowestPerLane;
    else if (end === 'responded') state.limit = Math.min(state.limit * 2, perLane);
    if (state.running === 0 && state.limit >= firstPerLane) this.#lanes.delete(name);
    else if (this.#lanes.size > maxRemembered) {
      const oldest = this.#lanes.values().find(({ running }) => running === 0);
      if (oldest) this.#lanes.delete(laneName(oldest.lane));
    }
  }
}

/** Returns the key of a lane in maps. */
export function laneName({ account_id, channel }: Lane): string {
  return channel === undefined ? account_id : `${account_id} ${channel}`;
}
