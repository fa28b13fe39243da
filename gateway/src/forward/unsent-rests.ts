import type { ServerResponse } from 'node:http';
import { FairPermits, limitReached } from '@customer-platform/service-kit';

/** Bytes of responses that wait for their clients while the services have sent them whole; an owner's alone may have half of them. */
const maxUnsentBytes = 67_108_864;
/** Memory that such a connection takes beside: its objects, and the system's own buffer. */
const connectionBytes = 65_536;

/**
 * Bounds what slow readers leave in memory. The service's socket is free once a response has been read from there, and its last part may take a client
 * minutes: with its own requests alone a customer could have thousands of connections wait for that.
 */
export class UnsentRests {
  readonly #permits: FairPermits;

  constructor(bytes = maxUnsentBytes) {
    this.#permits = new FairPermits(bytes);
  }

  /** Counts what is left of a response until it is sent; cuts the connection where its owner has too much of that. */
  hold(response: ServerResponse, owner: string): void {
    if (response.writableLength === 0) return;
    if (this.#permits.tryTakeUntilClosed(owner, response.writableLength + connectionBytes, response)) return;
    limitReached('unread_responses');
    response.destroy();
  }
}
