import { LRUCache } from 'lru-cache';
import { Debts } from './debts.ts';
import { busy } from './fair-permits.ts';

type Piece = () => unknown;

/** Price of pieces of work. */
export interface WorkPrice {
  /** Milliseconds of work that an owner may owe without resting. */
  freeMs: number;
  /** An owner rests this many times as long as it owes more than that; each millisecond of work is owed for as long. */
  restRatio: number;
}

/** An owner one of whose pieces took longer is known for it for an hour. */
const dearMs = 50;
const rememberedMs = 3_600_000;
const maxRemembered = 10_000;

/** Longest wait of a piece that somebody waits for. */
const longestWaitMs = 20_000;

/** Returns the processor's time that this thread has used: one that waits for a processor makes nobody pay. */
const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Has owners pay for calculations that others make us do, by what they send: all run on the event loop, where nobody else is served meanwhile. An
 * owner rests whose piece was dear, or many of whose pieces were together, with all that came since: its pieces wait for nobody else, and nobody for
 * them. One that goes on without end gets the loop for 1 / (1 + `restRatio`) of the time.
 */
export class WorkMeter {
  /** Owners that rest, with the pieces that wait until then. */
  readonly #resting = new Map<string, Piece[]>();
  readonly #debts: Debts;
  readonly #dear = new LRUCache<string, true>({ max: maxRemembered, ttl: rememberedMs });
  readonly #price: WorkPrice;
  readonly #nowMs: () => number;

  /** @param nowMs clock of what a piece takes, in milliseconds: by default the processor's time of this thread */
  constructor(price: WorkPrice, nowMs: () => number = threadMs) {
    this.#price = price;
    this.#debts = new Debts(price.restRatio);
    this.#nowMs = nowMs;
  }

  /**
   * Runs a piece of an owner's, now or when the owner has rested; they run in the order in which they came. Returns whether it has run: until then
   * no more should be taken in for the owner. One that waits must not throw.
   */
  run(owner: string, piece: Piece): boolean {
    const waiting = this.#resting.get(owner);
    if (waiting) waiting.push(piece);
    else this.#runNow(owner, piece);
    return waiting === undefined;
  }

  /** Returns whether one piece of the owner's took more than 50 ms within the last hour: nothing interrupts a piece, so that smaller ones must be taken. */
  wasDear(owner: string): boolean {
    return this.#dear.has(owner);
  }

  /**
   * Runs a piece in the same way; returns what it returns, or rejects with what it throws. Rejects with 429 rate_limited, and does not run it, where the
   * owner has not rested within 20 s.
   */
  async result<Result>(owner: string, piece: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    let isWaiting = true;
    const giveUp = () => {
      isWaiting = false;
      reject(busy(true, 'the service'));
    };
    const hasRun = this.run(owner, () => {
      if (!isWaiting) return;
      try {
        resolve(piece());
      } catch (error) {
        reject(error);
      }
    });
    const timer = hasRun ? undefined : setTimeout(giveUp, longestWaitMs).unref();
    return await promise.finally(() => clearTimeout(timer));
  }

  /** Runs a piece also while its owner rests, and returns what it returns: what comes after it waits for longer. */
  atOnce<Result>(owner: string, piece: () => Result): Result {
    return this.#runNow(owner, piece);
  }

  #runNow<Result>(owner: string, piece: () => Result): Result {
    const beganMs = this.#nowMs();
    try {
      return piece();
    } finally {
      const tookMs = this.#nowMs() - beganMs;
      if (tookMs > dearMs) this.#dear.set(owner, true);
      const owedMs = this.#debts.add(owner, tookMs) - this.#price.freeMs;
      if (owedMs > 0) this.#rest(owner, owedMs * this.#price.restRatio);
    }
  }

  #rest(owner: string, restMs: number): void {
    // Its end is looked at when it comes: more may be owed by then.
    if (this.#resting.has(owner)) return;
    this.#resting.set(owner, []);
    setTimeout(() => this.#wake(owner), restMs).unref();
  }

  #wake(owner: string): void {
    const owedMs = this.#debts.of(owner) - this.#price.freeMs;
    if (owedMs > 0) {
      setTimeout(() => this.#wake(owner), owedMs * this.#price.restRatio).unref();
      return;
    }
    const waiting = this.#resting.get(owner) ?? [];
    this.#resting.delete(owner);
    // One after the other: after a dear one the others wait again.
    for (const piece of waiting) this.run(owner, piece);
  }
}
