import { serviceUnavailable } from './database.ts';

export interface LargeBodyBounds {
  /** So large is each at most. */
  bytes: number;
  /** So many are in memory at once, of which so many are one owner's. */
  most: number;
  mostOfOwner: number;
  /** How long one waits for its turn. */
  waitMs: number;
}

/** The turn of a large body: it may be kept in `space()`, which others get after `end`. */
export interface Turn {
  space(): Buffer;
  end(): void;
}

interface Waiter {
  owner: string;
  begin(): void;
}

/**
 * The turns of large bodies, which are in memory whole: a few at once, fewer of one owner, and the others wait for theirs in the
 * order in which they came, while nothing of them is read. Their space is used again: it is not garbage that waits to be collected.
 */
export class LargeBodies {
  readonly #bounds: LargeBodyBounds;
  readonly #waiting = new Set<Waiter>();
  readonly #underWay: string[] = [];
  readonly #spaces: Buffer[] = [];

  constructor(bounds: LargeBodyBounds) {
    this.#bounds = bounds;
  }

  /** Waits for an owner's turn: a customer's, whose sandbox counts with it. Throws service_unavailable where it does not come in time. */
  async take(owner: string): Promise<Turn> {
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { owner, begin: resolve };
    this.#waiting.add(waiter);
    this.#beginNext();
    const late = () => reject(serviceUnavailable('Too many large bodies are being read; try again shortly'));
    const timer = setTimeout(late, this.#bounds.waitMs);
    try {
      await turn;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiter);
    }
    let space: Buffer | undefined;
    return {
      space: () => {
        space ??= this.#spaces.pop() ?? Buffer.allocUnsafeSlow(this.#bounds.bytes);
        return space;
      },
      end: () => {
        if (space) this.#spaces.push(space);
        this.#underWay.splice(this.#underWay.indexOf(owner), 1);
        this.#beginNext();
      },
    };
  }

  #beginNext(): void {
    const { most, mostOfOwner } = this.#bounds;
    for (const waiter of this.#waiting) {
      if (this.#underWay.length >= most) return;
      if (this.#underWay.filter((owner) => owner === waiter.owner).length >= mostOfOwner) continue;
      this.#waiting.delete(waiter);
      this.#underWay.push(waiter.owner);
      waiter.begin();
    }
  }
}
