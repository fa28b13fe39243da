/** Milliseconds of a piece that cost its owner nothing: a common handshake takes two to five in all, 64 KiB afterwards a tenth of one. */
const freeMs = 20;
/** An owner whose server makes us calculate for longer rests this many times as long as it did. */
const restRatio = 20;

type Piece = () => void;

/** Returns the processor's time that this thread has used: one that waits for a processor makes nobody pay. */
const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Has owners pay for the calculations that servers of theirs ask of us by TLS, most of all in handshakes: all run on the event loop, where nobody
 * else is served meanwhile, and a server can choose what they cost by its keys and certificates. An owner whose server was dear rests, with all that
 * its servers sent since: they wait for nobody else, and nobody for them.
 */
export class TlsMeter {
  /** Owners that rest, with the pieces that wait until then. */
  readonly #resting = new Map<string, Piece[]>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = threadMs) {
    this.#nowMs = nowMs;
  }

  /**
   * Runs a piece of an owner's, now or when the owner has rested; they run in the order in which they came. Returns whether it has run: until then
   * the connection should bring nothing more.
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
      const dearMs = this.#nowMs() - beganMs - freeMs;
      if (dearMs > 0) this.#rest(owner, dearMs * restRatio);
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
