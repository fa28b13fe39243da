/** Time for which one source has held permits so far. */
export interface Usage {
  usedMs: number;
}

interface Waiting {
  usage: Usage;
  begin: () => void;
}

/** A semaphore whose next permit goes to the source that has held permits for the shortest time; among equals, to the first waiter. */
export class FairSemaphore {
  #free: number;
  #waiting: Waiting[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Runs `work` with a permit. Throws the signal's reason if that is aborted before; errors of `work` pass through. */
  async use<Result>(usage: Usage, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#acquire(usage, signal);
    const began = performance.now();
    try {
      return await work();
    } finally {
      usage.usedMs += performance.now() - began;
      this.#free++;
      this.#beginNext();
    }
  }

  async #acquire(usage: Usage, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { usage, begin: resolve };
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
    const next = others.reduce((least, one) => (one.usage.usedMs < least.usage.usedMs ? one : least), first);
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#free--;
    next.begin();
  }
}
