import { Debts } from '@customer-platform/service-kit';

/** Permits of a semaphore. */
export interface Permits {
  most: number;
  /** Of these, what owners may hold together that have held theirs for more than 5 s lately: the rest is kept for the others. All unless given. */
  heavy?: number;
}

/** Time that an owner has held permits is forgotten in ten times as long. */
const forgetRatio = 10;
const heavyMs = 5_000;

interface Waiting {
  owner: string;
  begin: () => void;
}

/** A semaphore whose next permit goes to the owner that has held permits for the shortest time lately; among equals, to the first waiter. */
export class FairSemaphore {
  readonly #permits: Required<Permits>;
  readonly #debts: Debts;
  #waiting: Waiting[] = [];
  #held = 0;
  #heldByHeavy = 0;

  constructor({ most, heavy = most }: Permits, debts: Debts = new Debts(forgetRatio)) {
    this.#permits = { most, heavy };
    this.#debts = debts;
  }

  /** Runs `work` with a permit. Throws the signal's reason if that is aborted before; errors of `work` pass through. */
  async use<Result>(owner: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const isHeavy = await this.#acquire(owner, signal);
    const began = performance.now();
    try {
      return await work();
    } finally {
      this.#debts.add(owner, performance.now() - began);
      this.#held--;
      if (isHeavy) this.#heldByHeavy--;
      this.#beginNext();
    }
  }

  /** Waits for a permit; returns whether it is one of those that heavy owners may hold. */
  async #acquire(owner: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const begin = () => {
      const isHeavy = this.#isHeavy(owner);
      this.#held++;
      if (isHeavy) this.#heldByHeavy++;
      resolve(isHeavy);
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
    while (this.#beginOne());
  }

  /** Returns whether one begins. */
  #beginOne(): boolean {
    if (this.#held >= this.#permits.most) return false;
    const hasRoom = this.#heldByHeavy < this.#permits.heavy;
    const [first, ...others] = this.#waiting.filter(({ owner }) => hasRoom || !this.#isHeavy(owner));
    if (!first) return false;
    const next = others.reduce((least, one) => (this.#owed(one) < this.#owed(least) ? one : least), first);
    this.#waiting = this.#waiting.filter((one) => one !== next);
    next.begin();
    return true;
  }

  #owed({ owner }: Waiting): number {
    return this.#debts.of(owner);
  }

  #isHeavy(owner: string): boolean {
    return this.#debts.of(owner) > heavyMs;
  }
}
