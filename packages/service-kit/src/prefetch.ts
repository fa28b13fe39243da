import type { PrefetchCall } from './operation.ts';

/** Unwinds a handler whose prefetch has not run yet; see `Call.prefetch`. */
export class PrefetchNeeded extends Error {
  readonly work: (call: PrefetchCall) => Promise<void>;
  constructor(work: (call: PrefetchCall) => Promise<void>) {
    super('a prefetch must run before the handler goes on');
    this.work = work;
  }
}

/** The prefetch of one request, with its result once it has one. */
export class Prefetch {
  #isDone = false;
  #result: unknown;
  readonly once = <Result>(work: (call: PrefetchCall) => Promise<Result>): Result => {
    if (this.#isDone) return this.#result as Result;
    throw new PrefetchNeeded(async (call) => {
      this.#result = await work(call);
      this.#isDone = true;
    });
  };
}
