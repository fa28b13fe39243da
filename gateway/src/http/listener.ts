import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { gatewayHeadBytes, internalError, type Logger, listen, sendRefusal } from '@customer-platform/service-kit';
import { headRefusal, keptHeaders, setProtectiveHeaders, UnreadRequests } from './broken-http.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import { type RequestHead, RequestHeads } from './request-heads.ts';
import { UnreadResponses } from './unread-responses.ts';

/** Timeout of a request's head; Node checks every 30 s. */
const headMs = 20_000;

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  continues: boolean,
  head: RequestHead,
) => void;

/** Place of a listener, and its bounds. */
interface ListenerOptions {
  port: number;
  host: string;
  log: Logger;
  bodies?: 'watched';
  /** Bounds of requests' heads, which the handler tells of their owners. */
  heads?: RequestHeads;
  /** Interval at which responses are looked at that nobody reads. */
  lookEveryMs?: number;
}

/**
 * Listens. Invalid HTTP, CONNECT and a request without Host, or with two of it or of Idempotency-Key, included, gets an envelope with a Request-Id too; an
 * expectation other than 100-continue is ignored. A client that reads nothing of its responses for 40 s is cut off. With `bodies` the handler
 * itself bounds how long a body takes.
 */
export async function listenWithEnvelopes(
  handle: RequestHandler,
  { port, host, log, bodies, heads = new RequestHeads(), lookEveryMs }: ListenerOptions,
) {
  const unread = new UnreadRequests(log);
  const pipelined = new PipelinedRequests();
  const responses = new UnreadResponses(lookEveryMs);
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    const head = heads.begin(request);
    const serve = () => {
      unread.begin(request.socket, response);
      response.once('close', () => {
        unread.end(request.socket, response);
        heads.end(head);
        if (!request.complete) endWithConnection(request);
      });
      setProtectiveHeaders(response);
      const refusal = headRefusal(request);
      if (refusal) unread.refuse(request, response, refusal);
      else handle(request, response, continues, head);
    };
    // Requests of a connection run one at a time: pipelined ones wait here and hold no resources.
    if (response.socket === null) pipelined.wait(request, response, serve);
    else serve();
  };
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => take(request, response),
    port,
    host,
    gatewayHeadBytes,
  );
  const { server } = listener;
  server.headersTimeout = headMs;
  server.maxHeadersCount = keptHeaders;
  // Each proxy waits for the server's end, two for a service and cell: Node would warn of a leak from the eleventh on.
  server.setMaxListeners(0);
  // The rate of each body is watched, which is fairer than one deadline for 20 MiB and for a line.
  if (bodies === 'watched') server.requestTimeout = 0;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => unread.refuseConnect(socket));
  server.on('clientError', (error, socket) => unread.refuseBroken(error, socket));
  server.on('connection', (socket: Socket) => {
    responses.watch(socket);
    heads.watch(socket);
  });
  server.on('close', () => {
    responses.stop();
    heads.stop();
  });
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

/**
 * Ends a request with its connection. Node does not, once the response has ended and while the rest of the body is to come: whatever is kept until the
 * request closes would be kept for good.
 */
function endWithConnection(request: IncomingMessage): void {
  const { socket } = request;
  const end = () => void request.destroy();
  if (socket.destroyed) end();
  else {
    socket.once('close', end);
    request.once('close', () => socket.off('close', end));
  }
}
