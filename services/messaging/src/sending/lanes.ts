import type { Lane } from './claims.sql.ts';

/** What this process knows of a lane. */
interface LaneState extends Lane {
  running: number;
  /** Tries that may be under way at once. */
  limit: number;
}

/** The limit of a lane that nothing is known of: answers earn it more, calls without an answer cost it half. */
const firstLimit = 8;
const lowestLimit = 2;
/** A lane gets so many of one claim: many lanes begin before one of them has more. */
const perClaim = 20;
/** Idle lanes with a lowered limit that are remembered; beyond that the oldest begins again. */
const maxRemembered = 1_000;

/**
 * Counts what is under way lane by lane. A lane is an account's channel, whatever provider it has: setting a channel up again gives it no
 * more, and many accounts whose providers hang leave slots to others.
 */
export class Lanes {
  readonly #max: number;
  readonly #first: number;
  readonly #lanes = new Map<string, LaneState>();

  constructor(maxPerLane: number) {
    this.#max = maxPerLane;
    this.#first = Math.min(firstLimit, maxPerLane);
  }

  /** Tries that one claim may begin of a lane that `known` does not name. */
  get freeOfOthers(): number {
    return this.#first;
  }

  /** Lanes with tries under way or a lowered limit, and how many one claim may begin of each. */
  known(): (Lane & { free: number })[] {
    return [...this.#lanes.values()].map(({ account_id, channel, running, limit }) => {
      return { account_id, channel, free: Math.max(0, Math.min(limit - running, perClaim)) };
    });
  }

  begin({ account_id, channel }: Lane): void {
    const name = nameOf(account_id, channel);
    const lane = this.#lanes.get(name) ?? { account_id, channel, running: 0, limit: this.#first };
    // Put in again: the first of the map is the one that was used longest ago.
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    lane.running++;
  }

  end({ account_id, channel }: Lane, wasAnswered: boolean): void {
    const name = nameOf(account_id, channel);
    const lane = this.#lanes.get(name);
    if (!lane) throw new RangeError(`nothing is under way on ${name}`);
    lane.running--;
    const lowest = Math.min(lowestLimit, this.#max);
    lane.limit = wasAnswered ? Math.min(lane.limit + 1, this.#max) : Math.max(Math.floor(lane.limit / 2), lowest);
    if (lane.running === 0 && lane.limit >= this.#first) this.#lanes.delete(name);
    else if (this.#lanes.size > maxRemembered) this.#forgetOne();
  }

  #forgetOne(): void {
    for (const [name, { running }] of this.#lanes) {
      if (running > 0) continue;
      this.#lanes.delete(name);
      return;
    }
  }
}

function nameOf(accountId: string, channel: string): string {
  return `${accountId} ${channel}`;
}
