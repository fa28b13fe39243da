import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '@customer-platform/service-kit';
import { answerBrokenHttp, hostRefusal, refuseUnread, setProtectiveHeaders } from './broken-http.ts';

/** How long a request's head may take; Node looks every 30 s. */
const headMs = 20_000;
/** Requests that may wait on one connection for those before them, and bytes that may come meanwhile. */
const maxQueued = 100;
const maxQueuedBytes = 262_144;
/** How many wait on a connection, and how much had come on it when the first of them began to. */
const queued = new WeakMap<Socket, { waiting: number; fromBytes: number }>();

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/**
 * Listens. What HTTP itself refuses, a request without Host or with two included, is answered as an envelope with a Request-Id too;
 * an expectation other than 100-continue is ignored. `bodies` says that the handler itself bounds how long a body takes.
 */
export async function listenWithEnvelopes(handle: RequestHandler, port: number, host: string, bodies?: 'watched') {
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    // One request of a connection at a time: what is sent behind it waits here, and takes nothing of anybody's.
    if (response.socket === null) {
      queue(request, () => take(request, response, continues), response);
      return;
    }
    setProtectiveHeaders(response);
    const refusal = hostRefusal(request);
    if (refusal) refuseUnread(response, refusal);
    else handle(request, response, continues);
  };
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => take(request, response),
    port,
    host,
  );
  const { server } = listener;
  server.headersTimeout = headMs;
  // Whoever watches how fast bodies come knows better than a deadline that is the same for 20 MiB and for a line.
  if (bodies === 'watched') server.requestTimeout = 0;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('clientError', answerBrokenHttp);
  return listener;
}

/**
 * Has a request wait until those before it on its connection are answered. A connection on which too many wait, or too much, is cut: what
 * waits has no owner yet, whose share of the memory for bodies it could count against.
 */
function queue({ socket }: IncomingMessage, take: () => void, response: ServerResponse): void {
  const { waiting, fromBytes } = queued.get(socket) ?? { waiting: 0, fromBytes: socket.bytesRead };
  if (waiting >= maxQueued || socket.bytesRead - fromBytes > maxQueuedBytes) {
    socket.destroy();
    return;
  }
  queued.set(socket, { waiting: waiting + 1, fromBytes });
  response.once('socket', () => {
    const now = queued.get(socket)!;
    if (now.waiting > 1) queued.set(socket, { ...now, waiting: now.waiting - 1 });
    else queued.delete(socket);
    take();
  });
}
