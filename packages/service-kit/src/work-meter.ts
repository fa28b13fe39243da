type Piece = () => void;

/** Price of pieces of work. */
export interface WorkPrice {
  /** Milliseconds of a piece that cost its owner nothing. */
  freeMs: number;
  /** An owner whose piece took longer rests this many times as long as it did. */
  restRatio: number;
}

/** Returns the processor's time that this thread has used: one that waits for a processor makes nobody pay. */
const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Has owners pay for calculations that others make us do, by what they send: all run on the event loop, where nobody else is served meanwhile. An
 * owner whose piece was dear rests, with all that came since: its pieces wait for nobody else, and nobody for them.
 */
export class WorkMeter {
  /** Owners that rest, with the pieces that wait until then. */
  readonly #resting = new Map<string, Piece[]>();
  readonly #price: WorkPrice;
  readonly #nowMs: () => number;

  /** @param nowMs clock of what a piece takes, in milliseconds: by default the processor's time of this thread */
  constructor(price: WorkPrice, nowMs: () => number = threadMs) {
    this.#price = price;
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

  #runNow(owner: string, piece: Piece): void {
    const beganMs = this.#nowMs();
    try {
      piece();
    } finally {
      const dearMs = this.#nowMs() - beganMs - this.#price.freeMs;
      if (dearMs > 0) this.#rest(owner, dearMs * this.#price.restRatio);
    }
  }

  #rest(owner: string, restMs: number): void {
    const waiting = this.#resting.get(owner) ?? [];
    this.#resting.set(owner, waiting);
    setTimeout(() => this.#wake(owner), restMs).unref();
  }

  #wake(owner: string): void {
    const waiting = this.#resting.get(owner) ?? [];
    this.#resting.delete(owner);
    // One after the other: after a dear one the others wait again.
    for (const piece of waiting) this.run(owner, piece);
  }
}
