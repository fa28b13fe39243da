/** Owner of work: an account, or one of its channels where a queue keeps those apart. */
export interface Lane {
  readonly account_id: string;
  readonly channel?: string;
}

/** End of a run, as far as it decides how many of its lane may run at once. */
export type RunEnd = 'responded' | 'timeout' | 'other';

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

/** Part of the free slots that one account may hold, so that some are always left for another; alone it gets a quarter of all. */
const part = 1 / 3;
/** The same of an account with slow runs, which takes nothing of the last eighth. */
const slowPart = 1 / 8;
const keptFromSlow = 1 / 8;
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
  readonly #bounds: Required<SlotBounds>;
  readonly #lanes = new Map<string, LaneState>();
  readonly #accounts = new Map<string, { running: number; slow: number }>();
  #running = 0;
  #slow = 0;

  constructor(bounds: SlotBounds) {
    const { perLane, firstPerLane = perLane, lowestPerLane = 1, keepsSlowApart = false } = bounds;
    const first = Math.min(firstPerLane, perLane);
    this.#bounds = { ...bounds, firstPerLane: first, lowestPerLane: Math.min(lowestPerLane, first), keepsSlowApart };
  }

  /** Runs under way. */
  get running(): number {
    return this.#running;
  }

  /** Returns what may begin now; undefined where nothing may. */
  room(): Room | undefined {
    const { most, firstPerLane, keepsSlowApart } = this.#bounds;
    const free = most - this.#running;
    const fresh = Math.ceil((most - this.#slow) / 4) - (this.#running - this.#slow);
    const limit = keepsSlowApart ? Math.min(free, fresh) : free;
    if (limit <= 0) return undefined;
    const lanes = [...this.#lanes.values()].map((state) => {
      const { lane, running } = state;
      return { lane, running, free: Math.max(0, Math.min(state.limit - running, this.#freeOf(lane.account_id))) };
    });
    const kept = Math.max(0, Math.floor(most * keptPart) - (free - limit));
    return { limit, kept, perLane: Math.min(firstPerLane, Math.ceil(free / 4)), lanes };
  }

  begin(lane: Lane): void {
    const name = nameOf(lane);
    const state = this.#lanes.get(name) ?? { lane, running: 0, limit: this.#bounds.firstPerLane };
    // Put in again: the first of the map is the one that was used longest ago.
    this.#lanes.delete(name);
    this.#lanes.set(name, state);
    state.running++;
    const account = this.#accounts.get(lane.account_id);
    if (account) account.running++;
    else this.#accounts.set(lane.account_id, { running: 1, slow: 0 });
    this.#running++;
  }

  /** Notes that a run of the lane has become slow. */
  slowDown({ account_id }: Lane): void {
    this.#slow++;
    this.#accounts.get(account_id)!.slow++;
  }

  end(lane: Lane, wasSlow: boolean, end: RunEnd): void {
    const account = this.#accounts.get(lane.account_id);
    const name = nameOf(lane);
    const state = this.#lanes.get(name);
    if (!account || !state) throw new RangeError(`nothing is running of ${name}`);
    this.#running--;
    account.running--;
    state.running--;
    if (wasSlow) {
      this.#slow--;
      account.slow--;
    }
    if (account.running === 0) this.#accounts.delete(lane.account_id);
    const { perLane, firstPerLane, lowestPerLane } = this.#bounds;
    if (end === 'timeout') state.limit = lowestPerLane;
    else if (end === 'responded') state.limit = Math.min(state.limit * 2, perLane);
    if (state.running === 0 && state.limit >= firstPerLane) this.#lanes.delete(name);
    else if (this.#lanes.size > maxRemembered) this.#forgetOne();
  }

  /** Returns how many more runs the account's part of the slots has room for. */
  #freeOf(accountId: string): number {
    const { most } = this.#bounds;
    const free = most - this.#running;
    const { running = 0, slow = 0 } = this.#accounts.get(accountId) ?? {};
    // Each that begins leaves one slot less to divide: `n` more may begin as long as running + n < (free - n) * part.
    const [slots, fraction] = slow > 0 ? [free - most * keptFromSlow, slowPart] : [free, part];
    return Math.ceil((slots * fraction - running) / (1 + fraction));
  }

  #forgetOne(): void {
    for (const [name, { running }] of this.#lanes) {
      if (running > 0) continue;
      this.#lanes.delete(name);
      return;
    }
  }
}

function nameOf({ account_id, channel }: Lane): string {
  return channel === undefined ? account_id : `${account_id} ${channel}`;
}
