import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body } from '../bodies/body-intake.ts';

/** A service that requests are forwarded to. */
export interface Upstream {
  /**
   * Forwards a request of `owner`, with `body` in place of its own if given; refuses what cannot be forwarded with 429
   * or 503.
   */
  forward(request: IncomingMessage, response: ServerResponse, owner: string, body?: Body): void;
  /**
   * Opens a stream: returns the response once it has begun, of any status, for a request without a body. It takes none of the sockets that
   * requests wait for, and ends with `signal`. Throws 503, or the signal's reason.
   */
  openStream(request: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage>;
  /** Returns the response to a HEAD of a path. Throws if the service does not respond within `limitMs`. */
  probe(path: string, requestId: string, limitMs: number): Promise<Pick<IncomingMessage, 'statusCode' | 'headers'>>;
  /** Ends the connections that are kept. */
  close(): void;
}
