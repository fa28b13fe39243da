/** What one source has had of something that is shared so far. */
export interface Share {
  usedMs: number;
}

interface Waiting {
  share: Share;
  begin: () => void;
}

/** Shares something out: to so many at once, and next to whoever has had it for the shortest time in all, the first come first. */
export class Turns {
  #free: number;
  #waiting: Waiting[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Does `work` in its turn. Throws the signal's reason where that is aborted before; what it throws itself goes through. */
  async use<Result>(share: Share, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(share, signal);
    const began = performance.now();
    try {
      return await work();
    } finally {
      share.usedMs += performance.now() - began;
      this.#free++;
      this.#beginNext();
    }
  }

  async #turn(share: Share, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { share, begin: resolve };
    const leave = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      reject(signal.reason as Error);
    };
    this.#waiting.push(waiting);
    signal.addEventListener('abort', leave);
    this.#beginNext();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #beginNext(): void {
    const [first, ...others] = this.#waiting;
    if (this.#free === 0 || !first) return;
    const next = others.reduce((least, one) => (one.share.usedMs < least.share.usedMs ? one : least), first);
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#free--;
    next.begin();
  }
}
