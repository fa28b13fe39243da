import { randomUUIDv7 } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import {
  gatewayHeadBytes,
  internalError,
  type LimitName,
  type Logger,
  limitReached,
  listen,
  meter,
  sendAllow,
  sendRefusal,
} from '@customer-platform/service-kit';
import { hasBody } from '../bodies/body-intake.ts';
import { toOriginForm } from './request-head.ts';
import { type RequestLog, requestLog, streamBegan, whenServed } from './request-log.ts';

/** Timeout of a request's head; Node checks every 30 s. */
const headMs = 20_000;
/** Time without a byte in either direction after which Node closes a connection: longer than any request waits for its response. */
const quietMs = 120_000;
/** Time in which a client may go on sending what its response did not wait for, its most bytes, and most connections that do. */
const rest = { defaultMs: 10_000, bytes: 32 * 1_048_576, connections: 1_024 };
/** Methods that the server knows, of one path or another. */
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/** Place of a listener, and its bounds. */
interface ListenerOptions {
  port: number;
  host: string;
  log: Logger;
  /** The handler bounds how long a body takes, by its pace in each such window; the rest of a refused body gets one window. */
  bodyWindowMs?: number;
}

/**
 * Listens. Invalid HTTP, and a request without Host, or with two of it or of Idempotency-Key, gets an envelope with a Request-Id too; an
 * expectation other than 100-continue is ignored. What a client sends before it has the response to its request is not served:
 * the connection closes after that response. A client that has its response before it has sent its whole body gets to read it. An absolute
 * target is its origin form to the handler.
 */
export async function listenWithEnvelopes(handle: RequestHandler, { port, host, log, bodyWindowMs }: ListenerOptions) {
  const unread = new UnreadRequests(log);
  const rests = new UnreadRests(bodyWindowMs ?? rest.defaultMs);
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    if (response.socket === null || !request.socket.writable) {
      unread.closeAfterResponse(request.socket);
      return;
    }
    unread.begin(request.socket, response);
    response.once('close', () => unread.end(request.socket, response));
    // Those of every response but the pages and files of the documentation.
    response.setHeader('Cache-Control', 'no-store').setHeader('X-Content-Type-Options', 'nosniff');
    if (hasBody(request)) {
      const drop = () => rests.drop(request);
      // Before Node closes the connection, if the response is its last.
      response.prependOnceListener('finish', drop).once(streamBegan, drop);
    }
    const refusal = headRefusal(request) ?? targetRefusal(request);
    if (refusal) unread.refuse(request, response, refusal);
    else if (request.url === '*') sendAllow(response.setHeader('Request-Id', randomUUIDv7()), methods);
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
  if (bodyWindowMs !== undefined) server.requestTimeout = 0;
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

/** Time in which the client of what is not HTTP may go on sending before its connection is cut: it gets to read the response. */
const lingerMs = 2_000;

const maxHeaders = 500;
/** Headers that Node keeps of a request, or a few more. One more than are taken: of those that it drops, one may say where the request ends. */
export const keptHeaders = maxHeaders + 1;

/** Headers that would be read as one that nobody sent, were they sent twice. */
const sentOnce = ['Host', 'Idempotency-Key'].map((name) => ({ name, lowerCase: name.toLowerCase() }));

/**
 * Returns the refusal of a request without a Host header (HTTP/1.1), with two of one that must be sent once, or with more than 500 headers;
 * undefined if it is valid.
 */
export function headRefusal({ rawHeaders, headers, httpVersion }: IncomingMessage): ApiError | undefined {
  if (rawHeaders.length > 2 * maxHeaders) {
    limitReached('head_size');
    return new ApiError('invalid_request', `A request has at most ${maxHeaders} headers`, { status: 431 });
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    return new ApiError('invalid_request', 'An HTTP/1.1 request must have a Host header');
  }
  const twice = sentOnce.find(({ lowerCase }) => isSentTwice(rawHeaders, lowerCase));
  return twice && new ApiError('invalid_request', `The ${twice.name} header must be sent once`, { field: twice.name });
}

function targetRefusal(request: IncomingMessage): ApiError | undefined {
  if (toOriginForm(request)) return undefined;
  const message = 'The request target must be a path, or http:// or https:// with a host and a path, without // or ..';
  return new ApiError('invalid_request', message);
}

function isSentTwice(rawHeaders: readonly string[], lowerCase: string): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === lowerCase.length && name.toLowerCase() === lowerCase) count++;
  }
  return count > 1;
}

/** Bodies that go on after their responses: read and dropped, since a socket that closes with bytes unread resets the connection, and its client may lose the response. */
class UnreadRests {
  readonly #ms: number;
  #connections = 0;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Drops the rest of a request's body; a connection that is over its bounds is cut. Its response has ended, but for Node's work after that, or is a stream. */
  drop(request: IncomingMessage): void {
    const { socket } = request;
    if (request.complete || request.destroyed) return;
    if (this.#connections >= rest.connections) {
      socket.destroySoon();
      return;
    }
    this.#connections++;
    const cut = () => void socket.destroy();
    const timer = setTimeout(cut, this.#ms).unref();
    // Node calls it after the last response of a connection: until the body has ended, only what is written ends.
    const { destroySoon } = socket;
    socket.destroySoon = () => void socket.end();
    let unread = 0;
    request.on('data', (chunk: Buffer) => {
      unread += chunk.length;
      if (unread > rest.bytes) cut();
    });
    request.once('end', () => {
      socket.destroySoon = destroySoon;
      if (!socket.writable) socket.destroySoon();
    });
    request.once('close', () => {
      clearTimeout(timer);
      this.#connections--;
    });
    // Begins at once: Node drops uncounted what nobody has begun to read.
    request.resume().read(0);
  }
}

/** Refuses requests that no handler sees, each with a line in the log and in a metric. */
export class UnreadRequests {
  readonly #log: RequestLog | undefined;
  readonly #underWay = new WeakMap<Duplex, ServerResponse>();
  /** Connections whose last response is a refusal. */
  readonly #refused = new WeakSet<Duplex>();

  constructor(log: Logger) {
    this.#log = requestLog(log);
  }

  /** Refuses one whose head could be read, and ends its connection. */
  refuse(request: IncomingMessage, response: ServerResponse, refusal: ApiError): void {
    const logged = this.#log?.request(request, response);
    if (logged) whenServed(response, () => logged({}));
    countRefused(refusal.status);
    response.setHeader('Request-Id', randomUUIDv7());
    response.setHeader('Connection', 'close');
    sendRefusal(response, refusal);
  }

  /** Notes the response that is under way on a connection, until `end`: it holds the request's whole head. */
  begin(socket: Duplex, response: ServerResponse): void {
    this.#underWay.set(socket, response);
  }

  end(socket: Duplex, response: ServerResponse): void {
    if (this.#underWay.get(socket) === response) this.#underWay.delete(socket);
  }

  /** Has a connection close after the response that is under way: its client sent more without waiting for it. */
  closeAfterResponse(socket: Duplex): void {
    const before = this.#underWay.get(socket);
    if (!before) socket.destroy();
    else if (before.shouldKeepAlive) {
      limitReached('pipelined_requests');
      before.shouldKeepAlive = false;
      before.once('finish', () => (socket as Socket).destroySoon());
    }
  }

  /**
   * Responds to invalid or oversized HTTP with an envelope, and closes the connection once the client has read it. If a request is served there, its
   * response is the last one, unless what is broken is its own body, which then never comes.
   */
  refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (this.#refused.has(socket)) return;
    const before = this.#underWay.get(socket);
    const isServing = before !== undefined && !before.writableFinished;
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else if (isServing && before.req.complete) this.closeAfterResponse(socket);
    else if (isServing && before.headersSent) socket.destroy();
    else this.#respond(socket, refusals[error.code ?? ''] ?? { status: 400 });
  }

  #respond(socket: Duplex, { status, limit }: Refusal): void {
    this.#refused.add(socket);
    const requestId = randomUUIDv7();
    const envelope = envelopeOf(status, requestId);
    socket.end(envelope);
    if (limit) limitReached(limit);
    countRefused(status);
    this.#log?.unread({ request_id: requestId, status, bytes: Buffer.byteLength(envelope) });
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
    socket.once('end', () => socket.destroy());
  }
}

const refused = meter.createCounter('gateway.requests.unread', {
  unit: '{request}',
  description: 'Requests that were refused unread, by status.',
});

function countRefused(status: number): void {
  refused.add(1, { 'http.response.status_code': status });
}

interface Refusal {
  status: number;
  limit?: LimitName;
}

/** Refusals of Node's errors; all others are 400. */
const refusals: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { status: 431, limit: 'head_size' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, limit: 'head_time' },
};

function envelopeOf(status: number, requestId: string): string {
  const reason = STATUS_CODES[status];
  const message = `The request is not valid HTTP, or not complete: ${reason}`;
  const body = JSON.stringify(new ApiError('invalid_request', message).toBody());
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `Request-Id: ${requestId}`,
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
