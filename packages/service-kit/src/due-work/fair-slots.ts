import { AccountSlots, type RunEnd } from './account-slots.ts';

/** Owner of work: an account, or one of its channels where a queue keeps those apart. */
export interface Lane {
  readonly account_id: string;
  readonly channel?: string;
}

export interface SlotBounds {
  /** Most runs at once in this process. */
  most: number;
  /** Most runs at once of one lane. */
  perLane: number;
  /** The limit of a lane of which nothing is known; `perLane` unless given. */
  firstPerLane?: number;
  /** The limit of a lane after a run into a timeout; 1 unless given. */
  lowestPerLane?: number;
  /** Runs that are not slow yet hold at most a quarter of what the slow ones leave: many that hang at one moment do not take all slots. */
  keepsSlowApart?: boolean;
  /** Runs take long as a rule: none counts as slow. */
  slowIsUsual?: boolean;
}

/** Room for one claim. */
export interface Room {
  /** Rows at most. */
  limit: number;
  /** Rows of `limit` that only lanes with nothing running get; all of them where it is more. */
  kept: number;
  /** Rows at most of a lane that `lanes` does not name. */
  perLane: number;
  lanes: readonly KnownLane[];
}

/** A lane with runs under way or a lowered limit: `free` more may begin. */
export interface KnownLane {
  readonly lane: Lane;
  readonly running: number;
  readonly free: number;
}

/** Part of all slots that only lanes with nothing running get. */
const keptPart = 1 / 4;
/** Idle lanes with a lowered limit that are remembered; beyond that the one used longest ago begins again. */
const maxRemembered = 1_000;

interface LaneState {
  readonly lane: Lane;
  running: number;
  limit: number;
}

/**
 * Shares the slots that one process has for one queue. As they fill up everybody's part falls, so that whoever comes next finds one
 * free. The limit of a lane doubles with each response, and falls to the lowest after a timeout.
 */
export class FairSlots {
  readonly #bounds: Required<Omit<SlotBounds, 'slowIsUsual'>>;
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

  /** Returns what may begin now; undefined where nothing may. */
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
    // Put in again: the first of the map is the one that was used longest ago.
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
    if (!state) throw new RangeError(`nothing is running of ${name}`);
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

/** Names a lane. */
export function laneName({ account_id, channel }: Lane): string {
  return channel === undefined ? account_id : `${account_id} ${channel}`;
}
