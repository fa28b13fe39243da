import type { ServerResponse } from 'node:http';
import { busy, FairPermits, limitReached } from '@customer-platform/service-kit';

/** Requests in flight in this process. An owner alone may have half of them, and each further one half of the rest. */
const maxInFlight = 2_048;

/** The place of one request among those in flight. */
export interface RequestPlace {
  /** Has the place count as an owner's: the account, once it is known. Throws 429 or 503 where that has too many. */
  moveTo(owner: string): void;
}

/**
 * Shares the requests in flight among their owners, so that one customer's many or slow requests leave room for the others'. The owner is
 * the client's address until the account is known.
 */
export class RequestShares {
  readonly #permits: FairPermits;

  constructor(inFlight = maxInFlight) {
    this.#permits = new FairPermits(inFlight);
  }

  /** Takes a place until the response closes. Throws 429 where the owner's requests leave no room for it, 503 where others' do. */
  take(owner: string, response: ServerResponse): RequestPlace {
    this.#tryTake(owner);
    let holder = owner;
    response.once('close', () => this.#permits.giveBack(holder));
    return {
      moveTo: (next) => {
        if (response.closed) return;
        this.#tryTake(next);
        this.#permits.giveBack(holder);
        holder = next;
      },
    };
  }

  #tryTake(owner: string): void {
    if (this.#permits.tryTake(owner)) return;
    limitReached('requests');
    throw busy(this.#permits.holds(owner), 'The gateway');
  }
}
