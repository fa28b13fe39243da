import type { OutsideWork } from './operation.ts';

/** Unwinds a handler that needs something from another service; see `Call.outsideOnce`. */
export class OutsideNeeded extends Error {
  readonly work: (outside: OutsideWork) => Promise<void>;
  constructor(work: (outside: OutsideWork) => Promise<void>) {
    super('work outside of the transaction is needed');
    this.work = work;
  }
}

/** Remembers for one request what its work outside came to. */
export class Outside {
  #isDone = false;
  #answer: unknown;
  readonly once = <Answer>(work: (outside: OutsideWork) => Promise<Answer>): Answer => {
    if (this.#isDone) return this.#answer as Answer;
    this.#isDone = true;
    throw new OutsideNeeded(async (outside) => {
      this.#answer = await work(outside);
    });
  };
}
