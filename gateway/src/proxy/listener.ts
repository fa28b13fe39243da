import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Logger, limitReached, listen } from '@customer-platform/service-kit';
import { hostRefusal, setProtectiveHeaders, UnreadRequests } from './broken-http.ts';

/** Timeout of a request's head; Node checks every 30 s. */
const headMs = 20_000;
/** Most requests that wait on one connection for those before them, and most bytes that arrive meanwhile. */
const maxQueued = 100;
const maxQueuedBytes = 262_144;
/** Number of requests that wait on a connection, and bytes read on it when the first began to wait. */
const queued = new WeakMap<Socket, { waiting: number; fromBytes: number }>();

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/**
 * Listens. Invalid HTTP, CONNECT and a request without Host or with two included, gets an envelope with a Request-Id too; an
 * expectation other than 100-continue is ignored. With `bodies` the handler itself bounds how long a body takes.
 */
export async function listenWithEnvelopes(
  handle: RequestHandler,
  { port, host, log, bodies }: { port: number; host: string; log: Logger; bodies?: 'watched' },
) {
  const unread = new UnreadRequests(log);
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    // Requests of a connection run one at a time: pipelined ones wait here and hold no resources.
    if (response.socket === null) {
      queue(request, () => take(request, response, continues), response);
      return;
    }
    unread.begin(request.socket, response);
    setProtectiveHeaders(response);
    const refusal = hostRefusal(request);
    if (refusal) unread.refuse(request, response, refusal);
    else handle(request, response, continues);
  };
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => take(request, response),
    port,
    host,
  );
  const { server } = listener;
  server.headersTimeout = headMs;
  // Each proxy waits for the server's end, two for a service and cell: Node would warn of a leak from the eleventh on.
  server.setMaxListeners(0);
  // The rate of each body is watched, which is fairer than one deadline for 20 MiB and for a line.
  if (bodies === 'watched') server.requestTimeout = 0;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => unread.refuseConnect(socket));
  server.on('clientError', (error, socket) => unread.refuseBroken(error, socket));
  return listener;
}

/**
 * Has a pipelined request wait for the responses to those before it. A connection with too many requests or bytes
 * waiting is cut: they have no owner yet whose memory they could count against.
 */
function queue({ socket }: IncomingMessage, take: () => void, response: ServerResponse): void {
  const { waiting, fromBytes } = queued.get(socket) ?? { waiting: 0, fromBytes: socket.bytesRead };
  if (waiting >= maxQueued || socket.bytesRead - fromBytes > maxQueuedBytes) {
    limitReached('pipelined_requests');
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
