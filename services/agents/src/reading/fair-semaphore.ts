import { Debts } from './debts.ts';

/** Permits of a semaphore. */
export interface Permits {
  most: number;
  /**
   * Number of permits reserved for light owners. A light owner has held permits for at most 5 s recently, or less than half as long as
   * each current holder. Default: 0.
   */
  kept?: number;
}

/** The time that an owner has held permits is forgotten over ten times that time. */
const forgetRatio = 10;
const heavyMs = 5_000;
/** Advantage of an owner whose process is ready: it may hold permits this much longer than others. Starting a process takes 0.3 s. */
const sliceMs = 2_000;
/** Interval for reconsidering waiters while reserved permits are free. Over time, waiters become light owners. */
const recheckMs = 500;

interface Waiting {
  owner: string;
  begin: () => void;
}

/** A permit in use, and since when on the monotonic clock. */
interface Held {
  owner: string;
  sinceMs: number;
}

/** How a semaphore weights its owners. */
export interface Weights {
  /** Debts of owners for the time they have held permits. */
  debts?: Debts;
  /** Returns whether an owner's next work can begin at once, without preparation. Default: false for all owners. */
  isReady?(owner: string): boolean;
}

/**
 * A semaphore that gives the next permit to the owner that has recently held permits for the shortest time. An owner that is ready has an
 * advantage of 2 s. Among equals, the first waiter is next.
 */
export class FairSemaphore {
  readonly #permits: Required<Permits>;
  readonly #debts: Debts;
  readonly #isReady: (owner: string) => boolean;
  readonly #held = new Set<Held>();
  #waiting: Waiting[] = [];
  #again: NodeJS.Timeout | undefined;

  constructor({ most, kept = 0 }: Permits, { debts = new Debts(forgetRatio), isReady = () => false }: Weights = {}) {
    this.#permits = { most, kept };
    this.#debts = debts;
    this.#isReady = isReady;
  }

  /** Runs `work` with a permit. Throws the signal's reason if it is aborted before a permit is free, and any error of `work`. */
  async use<Result>(owner: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const held = await this.#acquire(owner, signal);
    try {
      return await work();
    } finally {
      this.#held.delete(held);
      this.#debts.add(owner, performance.now() - held.sinceMs);
      this.#beginNext();
    }
  }

  async #acquire(owner: string, signal: AbortSignal): Promise<Held> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Held>();
    const begin = () => {
      const held = { owner, sinceMs: performance.now() };
      this.#held.add(held);
      resolve(held);
    };
    const waiting = { owner, begin };
    const leave = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      reject(signal.reason as Error);
    };
    this.#waiting.push(waiting);
    signal.addEventListener('abort', leave);
    this.#beginNext();
    return await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #beginNext(): void {
    clearTimeout(this.#again);
    while (this.#beginOne());
    const isFree = this.#held.size < this.#permits.most;
    if (isFree && this.#waiting.length > 0) this.#again = setTimeout(() => this.#beginNext(), recheckMs).unref();
  }

  /** Gives a free permit to the next waiter. Returns false if there is no permit or no waiter for it. */
  #beginOne(): boolean {
    const free = this.#permits.most - this.#held.size;
    if (free <= 0) return false;
    const isOpen = free > this.#permits.kept;
    const [first, ...others] = this.#waiting.filter(({ owner }) => isOpen || this.#isLight(owner));
    if (!first) return false;
    const weight = (owner: string) => this.#owed(owner) - (this.#isReady(owner) ? sliceMs : 0);
    const next = others.reduce((least, one) => (weight(one.owner) < weight(least.owner) ? one : least), first);
    this.#waiting = this.#waiting.filter((one) => one !== next);
    next.begin();
    return true;
  }

  /** Returns whether this owner is light, and so may use a reserved permit. */
  #isLight(owner: string): boolean {
    const owed = this.#owed(owner);
    return owed <= heavyMs || [...this.#held].every((held) => owed < this.#owed(held.owner) / 2);
  }

  /** Returns for how many milliseconds an owner has recently held permits, including current ones. */
  #owed(owner: string): number {
    const nowMs = performance.now();
    return [...this.#held].reduce(
      (sum, held) => (held.owner === owner ? sum + nowMs - held.sinceMs : sum),
      this.#debts.of(owner),
    );
  }
}
