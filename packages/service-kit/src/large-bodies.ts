import { serviceUnavailable } from './database.ts';

export interface LargeBodyBounds {
  /** So large is each at most. */
  bytes: number;
  /** So many are in memory at once, of which so many are one account's. */
  most: number;
  mostOfAccount: number;
  /** How long one waits for its turn. */
  waitMs: number;
}

/** The turn of a large body: it may be kept in `space()`, which others get after `end`. */
export interface Turn {
  space(): Buffer;
  end(): void;
}

interface Waiter {
  account: string;
  begin(): void;
}

/**
 * The turns of large bodies, which are in memory whole: a few at once, fewer of one account, and the others wait for theirs in the
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

  /** Waits for an account's turn. Throws service_unavailable where it does not come in time. */
  async take(account: string): Promise<Turn> {
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { account, begin: resolve };
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
        this.#underWay.splice(this.#underWay.indexOf(account), 1);
        this.#beginNext();
      },
    };
  }

  #beginNext(): void {
    const { most, mostOfAccount } = this.#bounds;
    for (const waiter of this.#waiting) {
      if (this.#underWay.length >= most) return;
      if (this.#underWay.filter((account) => account === waiter.account).length >= mostOfAccount) continue;
      this.#waiting.delete(waiter);
      this.#underWay.push(waiter.account);
      waiter.begin();
    }
  }
}
