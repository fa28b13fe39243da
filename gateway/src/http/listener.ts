import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { gatewayHeadBytes, internalError, type Logger, listen, sendRefusal } from '@customer-platform/service-kit';
import { headRefusal, keptHeaders, setProtectiveHeaders, UnreadRequests } from './broken-http.ts';

/** Timeout of a request's head; Node checks every 30 s. */
const headMs = 20_000;
/** Time without a byte in either direction after which Node closes a connection: longer than any request waits for its response. */
const quietMs = 120_000;

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/** Place of a listener, and its bounds. */
interface ListenerOptions {
  port: number;
  host: string;
  log: Logger;
  bodies?: 'watched';
}

/**
 * Listens. Invalid HTTP, and a request without Host, or with two of it or of Idempotency-Key, gets an envelope with a Request-Id too; an
 * expectation other than 100-continue is ignored. What a client sends before it has the response to its request is not served:
 * the connection closes after that response. With `bodies` the handler itself bounds how long a body takes.
 */
export async function listenWithEnvelopes(handle: RequestHandler, { port, host, log, bodies }: ListenerOptions) {
  const unread = new UnreadRequests(log);
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    if (response.socket === null) {
      unread.closeAfterResponse(request.socket);
      return;
    }
    unread.begin(request.socket, response);
    response.once('close', () => unread.end(request.socket, response));
    setProtectiveHeaders(response);
    const refusal = headRefusal(request);
    if (refusal) unread.refuse(request, response, refusal);
    else handle(request, response, continues);
  };
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => take(request, response),
    port,
    host,
    gatewayHeadBytes,
  );
  const { server } = listener;
  server.headersTimeout = headMs;
  server.timeout = quietMs;
  server.maxHeadersCount = keptHeaders;
  // Each proxy waits for the server's end, two for a service: Node would warn of a leak from the eleventh on.
  server.setMaxListeners(0);
  // The rate of each body is watched, which is fairer than one deadline for 20 MiB and for a line.
  if (bodies === 'watched') server.requestTimeout = 0;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('clientError', (error, socket) => unread.refuseBroken(error, socket));
  return listener;
}

/** Sends a refusal's envelope; for any other error 500, logged once with its cause, which is not sent. */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof ApiError) {
    sendRefusal(response, error);
    return;
  }
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'request failed');
  sendRefusal(response, internalError());
}
