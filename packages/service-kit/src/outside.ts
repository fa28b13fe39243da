import type { OutsideWork } from './operation.ts';

/** Unwinds a handler that needs something from another service; see `Call.outsideOnce`. */
export class OutsideNeeded extends Error {
  readonly work: (outside: OutsideWork) => Promise<void>;
  constructor(work: (outside: OutsideWork) => Promise<void>) {
    super('work outside of the transaction is needed');
    this.work = work;
  }
}

/** Remembers for one request whether its work outside was done. */
export class Outside {
  #done = false;
  readonly once = (work: (outside: OutsideWork) => Promise<void>): void => {
    if (this.#done) return;
    this.#done = true;
    throw new OutsideNeeded(work);
  };
}
