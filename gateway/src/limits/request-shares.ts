import type { ServerResponse } from 'node:http';
import type { ApiError } from '@customer-platform/contracts/core';
import { busy, FairPermits, limitReached } from '@customer-platform/service-kit';

/** Maximum requests in flight in this process. One owner alone may have half of them, and each further owner half of the rest. */
const maxInFlight = 2_048;

/** The place of one request among the requests in flight. */
export interface RequestPlace {
  /** Moves the place to the account, once it is known. Throws the refusal if that owner has too many. */
  moveTo(owner: string): void;
}

/**
 * Shares the requests in flight among their owners, so that one customer's many or slow requests leave room for others.
 * The owner is the client's address until the account is known.
 */
export class RequestShares {
  readonly #permits: FairPermits;
  readonly #refusal: (hasOthers: boolean) => ApiError;

  /** `refusal` creates the error for a request without a place. Default: 429 if its owner has other places (`hasOthers`), else 503. */
  constructor(inFlight = maxInFlight, refusal: (hasOthers: boolean) => ApiError = gatewayBusy) {
    this.#permits = new FairPermits(inFlight);
    this.#refusal = refusal;
  }

  /** True if no place is held. */
  get isUnused(): boolean {
    return this.#permits.isUnused;
  }

  /** Takes a place until the response closes. Throws the refusal if none is free. */
  take(owner: string, response: ServerResponse): RequestPlace {
    this.#tryTake(owner);
    let holder = owner;
    response.once('close', () => this.#permits.release(holder));
    return {
      moveTo: (next) => {
        if (response.closed) return;
        this.#tryTake(next);
        this.#permits.release(holder);
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
