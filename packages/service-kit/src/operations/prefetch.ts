import type { PrefetchCall } from './operation.ts';

/** Unwinds a handler whose prefetch has not run yet; see `Call.prefetch`. */
export class PrefetchNeeded extends Error {
  readonly work: (call: PrefetchCall) => Promise<void>;
  constructor(work: (call: PrefetchCall) => Promise<void>) {
    super('a prefetch must run before the handler goes on');
    this.work = work;
  }
}

/** The prefetches of one request, by their names or the order in which its handler asks for them, with their results once they have one. */
export class Prefetch {
  readonly #results = new Map<string, unknown>();

  /** Returns the `prefetch` of one attempt at the request, which begins with the first. */
  attempt() {
    let place = 0;
    return <Result>(work: (call: PrefetchCall) => Promise<Result>, name = String(++place)): Result => {
      if (this.#results.has(name)) return this.#results.get(name) as Result;
      throw new PrefetchNeeded(async (call) => {
        this.#results.set(name, await work(call));
      });
    };
  }
}
