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

/** Timeout of a request's head. Node checks every 30 s. */
const headMs = 20_000;
/** Time without a byte in either direction after which Node closes a connection. Longer than any request waits for its response. */
const quietMs = 120_000;
/** Bounds of the rest of a body after its response: its time, its bytes, and the number of such connections. */
const unreadBounds = { defaultMs: 10_000, bytes: 32 * 1_048_576, connections: 1_024 };
/** Methods that the server supports on at least one path. */
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Handles one request. `continues` means that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/** Address and bounds of a listener. */
interface ListenerOptions {
  port: number;
  host: string;
  log: Logger;
  /** Window in which the handler checks the rate of a body. The rest of a refused body gets one window. */
  bodyWindowMs?: number;
}

/**
 * Starts a listener. Invalid HTTP gets an envelope with a Request-Id. So does a request without Host, or with a
 * repeated Host or Idempotency-Key. It ignores expectations other than 100-continue. It does not serve pipelined
 * requests: the connection closes after the first response. A client that gets its response before it has sent its
 * whole body can still read the response. The handler sees an absolute target in origin form.
 */
export async function listenWithEnvelopes(handle: RequestHandler, { port, host, log, bodyWindowMs }: ListenerOptions) {
  const unread = new UnreadRequests(log);
  const unreadBodies = new UnreadBodies(bodyWindowMs ?? unreadBounds.defaultMs);
  const take = (request: IncomingMessage, response: ServerResponse, continues = false): void => {
    if (response.socket === null || !request.socket.writable) {
      unread.closeAfterResponse(request.socket);
      return;
    }
    unread.begin(request.socket, response);
    response.once('close', () => unread.end(request.socket, response));
    // Defaults for every response. The documentation overrides them for its pages and files.
    response.setHeader('Cache-Control', 'no-store').setHeader('X-Content-Type-Options', 'nosniff');
    if (hasBody(request)) {
      const drop = () => unreadBodies.drop(request);
      // Runs before Node closes the connection after its last response.
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
  // Disables Node's warning about more than ten listeners on the server.
  server.setMaxListeners(0);
  // The handler checks the rate of each body instead. One deadline cannot suit both one line and 20 MiB.
  if (bodyWindowMs !== undefined) server.requestTimeout = 0;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('clientError', (error, socket) => unread.refuseBroken(error, socket));
  return listener;
}

/** Sends an ApiError's envelope. Any other error is logged once with its cause and sent as 500 without it. */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof ApiError) {
    sendRefusal(response, error);
    return;
  }
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'request failed');
  sendRefusal(response, internalError());
}

/** Time in which a client that sent invalid HTTP may read the response and keep sending. Then its connection is cut. */
const lingerMs = 2_000;

const maxHeaders = 500;
/** Number of headers that Node keeps, one more than allowed. Node drops further headers, and one of them may determine where the request ends. */
export const keptHeaders = maxHeaders + 1;

/** Headers that must not be repeated. Node joins or drops the values, so a service would see one that nobody sent. */
const sentOnce = ['Host', 'Idempotency-Key'].map((name) => ({ name, lowerCase: name.toLowerCase() }));

/**
 * Returns the refusal of a request without Host (HTTP/1.1), with a repeated Host or Idempotency-Key, or with over 500
 * headers. Returns undefined if the request is valid.
 */
export function headRefusal({ rawHeaders, headers, httpVersion }: IncomingMessage): ApiError | undefined {
  if (rawHeaders.length > 2 * maxHeaders) {
    limitReached('head_size');
    return new ApiError('invalid_request', `A request may have at most ${maxHeaders} headers`, { status: 431 });
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

/** Drops the rest of bodies after their responses. Closing a socket with unread bytes resets it, and the client may lose the response. */
class UnreadBodies {
  readonly #ms: number;
  #connections = 0;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Drops the rest of a request's body once its response has ended or has begun to stream. Cuts the connection beyond its bounds. */
  drop(request: IncomingMessage): void {
    const { socket } = request;
    if (request.complete || request.destroyed) return;
    if (this.#connections >= unreadBounds.connections) {
      socket.destroySoon();
      return;
    }
    this.#connections++;
    const cut = () => void socket.destroy();
    const timer = setTimeout(cut, this.#ms).unref();
    // Node calls destroySoon after the last response of a connection. Until the body ends, only the writable side ends.
    const { destroySoon } = socket;
    socket.destroySoon = () => void socket.end();
    let unread = 0;
    request.on('data', (chunk: Buffer) => {
      unread += chunk.length;
      if (unread > unreadBounds.bytes) cut();
    });
    request.once('end', () => {
      socket.destroySoon = destroySoon;
      if (!socket.writable) socket.destroySoon();
    });
    request.once('close', () => {
      clearTimeout(timer);
      this.#connections--;
    });
    // Start reading at once, because Node drops unread bodies without counting them.
    request.resume().read(0);
  }
}

/** Refuses requests before any handler sees them. Each gets a log line and is counted in a metric. */
export class UnreadRequests {
  readonly #log: RequestLog | undefined;
  readonly #current = new WeakMap<Duplex, ServerResponse>();
  /** Connections whose last response is a refusal. */
  readonly #refused = new WeakSet<Duplex>();

  constructor(log: Logger) {
    this.#log = requestLog(log);
  }

  /** Refuses a request with a readable head, and closes its connection. */
  refuse(request: IncomingMessage, response: ServerResponse, refusal: ApiError): void {
    const logged = this.#log?.request(request, response);
    if (logged) whenServed(response, () => logged({}));
    countRefused(refusal.status);
    response.setHeader('Request-Id', randomUUIDv7());
    response.setHeader('Connection', 'close');
    sendRefusal(response, refusal);
  }

  /** Remembers the current response of a connection until `end`. The head of its request is complete. */
  begin(socket: Duplex, response: ServerResponse): void {
    this.#current.set(socket, response);
  }

  end(socket: Duplex, response: ServerResponse): void {
    if (this.#current.get(socket) === response) this.#current.delete(socket);
  }

  /** Closes a connection after its current response, because its client sent more without waiting for that response. */
  closeAfterResponse(socket: Duplex): void {
    const before = this.#current.get(socket);
    if (!before) socket.destroy();
    else if (before.shouldKeepAlive) {
      limitReached('pipelined_requests');
      before.shouldKeepAlive = false;
      before.once('finish', () => (socket as Socket).destroySoon());
    }
  }

  /**
   * Responds to invalid or oversized HTTP with an envelope, and closes the connection once the client has read it. If a complete request is being
   * served, its response is the last one instead. An invalid body is refused like other invalid HTTP, because its end never arrives.
   */
  refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (this.#refused.has(socket)) return;
    const before = this.#current.get(socket);
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

/** Responses to Node's errors. All others are 400. */
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
