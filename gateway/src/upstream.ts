import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** A service that requests are forwarded to. */
export interface Upstream {
  /** Sends a request of `owner`'s on, with `body` in place of its own where given; what cannot be sent is refused with 429 or 503. */
  forward(request: IncomingMessage, response: ServerResponse, owner: string, body?: Readable): void;
  /** Returns the status of a HEAD of a path. Throws if the service does not respond within `limitMs`. */
  probe(path: string, requestId: string, limitMs: number): Promise<number>;
  /** Ends the connections that are kept. */
  close(): void;
}
