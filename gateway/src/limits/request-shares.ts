import type { ServerResponse } from 'node:http';
import type { ApiError } from '@customer-platform/contracts/core';
import { busy, FairPermits, limitReached } from '@customer-platform/service-kit';

/** Requests in flight in this process. An owner alone may have half of them, and each further one half of the rest. */
const maxInFlight = 2_048;

/** The place of one request among those in flight. */
export interface RequestPlace {
  /** Has the place count as an owner's: the account, once it is known. Throws the refusal where that has too many. */
  moveTo(owner: string): void;
}

/**
 * Shares the requests in flight among their owners, so that one customer's many or slow requests leave room for the others'. The owner is
 * the client's address until the account is known.
 */
export class RequestShares {
  readonly #permits: FairPermits;
  readonly #refusal: (hasOthers: boolean) => ApiError;

  /** `refusal` makes the error of a request without a place; `hasOthers` says that its owner has some: by default 429, else 503. */
  constructor(inFlight = maxInFlight, refusal: (hasOthers: boolean) => ApiError = gatewayBusy) {
    this.#permits = new FairPermits(inFlight);
    this.#refusal = refusal;
  }

  /** Nobody holds a place. */
  get isUnused(): boolean {
    return this.#permits.isUnused;
  }

  /** Takes a place until the response closes. Throws the refusal where there is none. */
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
    if (!this.#permits.tryTake(owner)) throw this.#refusal(this.#permits.holds(owner));
  }
}

function gatewayBusy(hasOthers: boolean): ApiError {
  limitReached('requests');
  return busy(hasOthers, 'The gateway');
}
