import { Debts } from './debts.ts';

/** Permits of a semaphore. */
export interface Permits {
  most: number;
  /**
   * Of these, how many are kept for owners that have held theirs for at most 5 s lately, or for less than half as long as each owner that holds
   * one. None unless given.
   */
  kept?: number;
}

/** Time that an owner has held permits is forgotten in ten times as long. */
const forgetRatio = 10;
const heavyMs = 5_000;
/** An owner for which all is ready goes on until it has held permits for so much longer than another: what makes ready takes a third of a second. */
const sliceMs = 2_000;
/** Time after which those that wait beside a free permit are looked at again: what they held is forgotten, and others hold theirs for longer. */
const lookMs = 500;

interface Waiting {
  owner: string;
  begin: () => void;
}

/** A permit that is held, and since when on the monotonic clock. */
interface Held {
  owner: string;
  sinceMs: number;
}

/** Weights of a semaphore's owners. */
export interface Weights {
  /** Debts of owners for the permits that they have held. */
  debts?: Debts;
  /** Returns whether an owner's next work can begin at once, where another's needs something made ready for it. Default: all the same. */
  isReady?(owner: string): boolean;
}

/**
 * A semaphore whose next permit goes to the owner that has held permits for the shortest time lately, with two seconds in favour of those that are
 * ready; among equals, to the first waiter.
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

  /** Runs `work` with a permit. Throws the signal's reason if that is aborted before; errors of `work` pass through. */
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
    if (isFree && this.#waiting.length > 0) this.#again = setTimeout(() => this.#beginNext(), lookMs).unref();
  }

  /** Returns whether one begins. */
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

  /** Returns whether a permit that is kept is for this owner, too. */
  #isLight(owner: string): boolean {
    const owed = this.#owed(owner);
    return owed <= heavyMs || [...this.#held].every((held) => owed < this.#owed(held.owner) / 2);
  }

  /** Returns for how many milliseconds an owner has held permits lately, those included that it holds. */
  #owed(owner: string): number {
    const nowMs = performance.now();
    return [...this.#held].reduce(
      (sum, held) => (held.owner === owner ? sum + nowMs - held.sinceMs : sum),
      this.#debts.of(owner),
    );
  }
}
