import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import {
  ClientGone,
  FairPermits,
  hookAccountHeader,
  type Logger,
  PermitQueue,
  serviceUnavailable,
} from '@customer-platform/service-kit';
import type { Body } from '../bodies/body-intake.ts';
import { refuse } from '../http/listener.ts';

/** Shorter than the idle timeout of services (75 s), so that no request is sent on a socket that closes. */
const idleSocketMs = 60_000;
/** Minimum interval between log lines about a service that is down. */
const quietMs = 5_000;
/** Maximum attempts to send a request. */
const maxSends = 5;
/** Time for a service to begin a stream, and the silence after which a stream ends. Services send a comment every 15 s. */
const streamMs = { begin: 30_000, silent: 45_000 };

/** Error code of a connection attempt that timed out. ETIMEDOUT may also come from an established connection. */
const connectTimeout = 'ECONNECTTIMEOUT';
/** Errors of a failed connection attempt, after which the service has seen nothing of the request. */
const unconnected = new Set([connectTimeout, 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Errors of a connection that the service closed. */
const reset = new Set(['ECONNRESET', 'EPIPE']);

/** Response headers not passed on: connection headers, headers that the gateway sets, and the one that names a webhook's account. */
const withheld = [
  'cache-control',
  'connection',
  'date',
  'keep-alive',
  'request-id',
  'transfer-encoding',
  'x-content-type-options',
  hookAccountHeader,
];

/** A service that requests are forwarded to. */
export interface Upstream {
  /**
   * Forwards a request of `owner`, with `body` instead of its own if given. Responds with 429 or 503 if it cannot be
   * forwarded.
   */
  forward(request: IncomingMessage, response: ServerResponse, owner: string, body?: Body): void;
  /**
   * Opens a stream for a request without a body, and returns the response, of any status, once it begins. Uses none of
   * the sockets for requests, and ends with `signal`. Throws 503, or the signal's reason.
   */
  openStream(request: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage>;
  /** Returns the response to a HEAD of a path. Throws if the service does not respond within `limitMs`. */
  probe(path: string, requestId: string, limitMs: number): Promise<Pick<IncomingMessage, 'statusCode' | 'headers'>>;
  /** Closes idle connections. */
  close(): void;
}

/** The bounds of an upstream. */
interface UpstreamBounds {
  /** Timeout until a service responds, and then for silence of the service or of a client that does not read. */
  timeoutMs?: number;
  /** Timeout of a connection attempt. */
  connectMs?: number;
  /** Maximum concurrent requests to the service. */
  sockets?: number;
  /** Maximum requests that wait for a socket, and for how long. Further requests are refused. */
  waiting?: number;
  waitMs?: number;
  /** Longest wait for a service that refuses connections, counted from the first waiting request. */
  holdMs?: number;
}

/** A request being sent to a service. */
interface Sending {
  request: IncomingMessage;
  response: ServerResponse;
  body: Body | undefined;
  /** Releases the socket's permit for another request. Idempotent. */
  release(): void;
  outgoing?: ClientRequest;
  sends: number;
  isRepeated: boolean;
  /** The service was silent for too long. It may have processed the request, and another attempt would wait as long. */
  isOverdue: boolean;
}

/**
 * Returns the upstream of one service, a fixed target with keep-alive connections that owners share. The request's URL
 * and headers are sent as they are at the call. A service that stays silent for `timeoutMs` results in 503. A request
 * waits up to `holdMs` for a service that refuses connections. If the service closes a reused connection, only a GET or a
 * request with an Idempotency-Key is sent once more, since the service may have processed the first attempt.
 */
export function forwarder(target: string, service: string, log: Logger, bounds: UpstreamBounds = {}): Upstream {
  const { timeoutMs = 30_000, connectMs = 3_000, sockets = 256, waiting = 1_000, waitMs = 10_000, holdMs = 0 } = bounds;
  const url = new URL(target);
  const agents = openAgents(url, { sockets, connectMs });
  const begin = requestsTo(url);
  const queue = new PermitQueue(new FairPermits(sockets), waiting, waitMs, 'service_sockets');
  const outage = new Outage(
    holdMs,
    (limitMs) => probe('/healthz', 'outage', limitMs),
    () => log.warn({ target: service, hold_ms: holdMs }, 'service refuses connections; its requests wait for it'),
  );
  const noResponse = () => serviceUnavailable(`${service} does not respond; try again shortly`);

  const probe = async (path: string, requestId: string, limitMs: number) => {
    const head = { method: 'HEAD', url: path, headers: { 'request-id': requestId } };
    const signal = AbortSignal.timeout(limitMs);
    return (await responseTo(begin(head, { agent: agents.probes, signal }))).resume();
  };

  const openStreamOnce = async (request: IncomingMessage, signal: AbortSignal) => {
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = request.headers;
    const options = { agent: agents.streams, signal, timeout: streamMs.begin };
    const outgoing = begin({ method: request.method, url: request.url, headers }, options);
    outgoing.on('timeout', () => outgoing.destroy(new Error('the service did not respond in time')));
    const received = await responseTo(outgoing);
    outage.end();
    outgoing.setTimeout(streamMs.silent);
    if (!isForeignFailure(received)) return withOwnHeaders(received);
    outgoing.destroy();
    throw new Error(`the service responded with ${received.statusCode} instead of a stream`);
  };

  const openStream = async (request: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage> => {
    for (let sends = 1; ; sends++) {
      try {
        return await openStreamOnce(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (sends < maxSends && unconnected.has(codeOf(error)) && (await outage.wait())) continue;
        signal.throwIfAborted();
        log.warn({ err: error, target: service }, 'service did not open a stream; the request gets 503');
        throw noResponse();
      }
    }
  };

  const send = (sending: Sending): void => {
    const { request, response, body } = sending;
    const outgoing = begin(request, { agent: agents.requests, timeout: timeoutMs });
    const leave = () => void outgoing.destroy();
    sending.outgoing = outgoing;
    sending.sends++;
    response.once('close', leave);
    outgoing.once('close', () => response.off('close', leave));
    outgoing.once('timeout', () => {
      sending.isOverdue = true;
      outgoing.destroy(new Error(`the service was silent for ${timeoutMs} ms`));
    });
    outgoing.on('response', (received) => receive(sending, received));
    outgoing.on('error', (error) => fail(sending, error));
    if (!body) {
      outgoing.end();
      return;
    }
    // A body that is never sent twice is released once it has been sent.
    if (!isRepeatable(request)) outgoing.once('finish', body.release);
    body.stream().pipe(outgoing);
  };

  const receive = ({ response, body, outgoing, release }: Sending, received: IncomingMessage): void => {
    outage.end();
    // The request is not sent again. A body that the service has not read completely is released with the response.
    if (outgoing!.writableFinished) body?.release();
    if (isForeignFailure(received)) {
      received.destroy();
      refuse(response, noResponse(), log);
      return;
    }
    // The socket is free once the response is read from it, even if the client reads slowly.
    received.once('end', release);
    const { headers } = withOwnHeaders(received);
    headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
    response.writeHead(received.statusCode!, headers);
    pipeResponse(received, response);
  };

  const fail = (sending: Sending, error: Error): void => {
    const { response, sends, isRepeated, request } = sending;
    // The client is gone, or the response has begun and ends with its connection.
    if (response.closed || response.destroyed || response.headersSent) return;
    if (sends < maxSends && unconnected.has(codeOf(error))) {
      void outage.wait().then((isBack) => {
        if (response.closed) return;
        if (isBack) send(sending);
        else refuseWith(error, response);
      });
    } else if (sends < maxSends && !isRepeated && isLost(error, sending) && isRepeatable(request)) {
      sending.isRepeated = true;
      send(sending);
    } else refuseWith(error, response);
  };

  let quietUntilMs = 0;
  const refuseWith = (error: Error, response: ServerResponse): void => {
    if (performance.now() >= quietUntilMs) {
      quietUntilMs = performance.now() + quietMs;
      const facts = { err: error, target: service, request_id: response.getHeader('request-id') };
      log.warn(facts, 'service did not respond; its requests get 503');
    }
    refuse(response, noResponse(), log);
  };

  const beginSending = (request: IncomingMessage, response: ServerResponse, owner: string, body: Body | undefined) => {
    let isHeld = true;
    const release = () => {
      if (isHeld) queue.release(owner);
      isHeld = false;
    };
    response.on('close', release);
    send({ request, response, body, release, sends: 0, isRepeated: false, isOverdue: false });
  };
  const beginLater = async (request: IncomingMessage, response: ServerResponse, owner: string, body?: Body) => {
    try {
      await queue.wait(owner, service, response);
    } catch (error) {
      if (!(error instanceof ClientGone)) refuse(response, error, log);
      return;
    }
    if (response.closed) queue.release(owner);
    else beginSending(request, response, owner, body);
  };
  return {
    forward(request, response, owner, body) {
      if (response.closed) return;
      if (queue.tryTake(owner)) beginSending(request, response, owner, body);
      else void beginLater(request, response, owner, body);
    },
    openStream,
    probe,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Passes a response on, as fast as the client reads it. */
export function pipeResponse(received: IncomingMessage, response: ServerResponse): void {
  // If the service ends during its response, or disconnects a stream's reader, the client sees a closed connection.
  received.once('close', () => {
    if (!received.complete && !response.writableEnded) response.destroy();
  });
  received.on('error', () => undefined);
  received.pipe(response);
}

type Head = Pick<IncomingMessage, 'method' | 'url'> & { headers: IncomingHttpHeaders };

/** Returns a function that begins a request to a service. Sends the path exactly as signed, since a URL object would escape it again. */
function requestsTo(url: URL): (head: Head, options: RequestOptions) => ClientRequest {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const base = url.pathname.replace(/\/$/, '');
  const { protocol, hostname, port } = urlToHttpOptions(url);
  return ({ method, url: path, headers }, options) =>
    request({ protocol, hostname, port, method, path: base + path, headers, ...options });
}

function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on('response', resolve).on('error', reject).end();
  return promise;
}

function openAgents({ protocol }: URL, { sockets, connectMs }: { sockets: number; connectMs: number }) {
  const Agent = protocol === 'https:' ? HttpsAgent : HttpAgent;
  const idle = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', timeout: idleSocketMs } as const;
  return {
    // 32 additional sockets for those whose response has ended but that are not free yet.
    requests: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: sockets + 32 })),
    // Probes need no permit, so no request waits behind them.
    probes: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: 32 })),
    // Streams need no permit either, because each key has a limited number of streams.
    streams: connectsWithin(connectMs, new Agent({ keepAlive: false })),
  };
}

/**
 * Makes an agent give up a connection attempt after `connectMs`, and returns the agent. A machine that is down does not
 * refuse connections, so a request would otherwise wait for its whole response timeout.
 */
function connectsWithin<Connecting extends HttpAgent>(connectMs: number, agent: Connecting): Connecting {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...options) => {
    const socket = connect(...options);
    if (!socket) return socket;
    const error = () => Object.assign(new Error(`no connection within ${connectMs} ms`), { code: connectTimeout });
    const timer = setTimeout(() => socket.destroy(error()), connectMs);
    const end = () => clearTimeout(timer);
    socket.once('connect', end).once('close', end);
    return socket;
  };
  return agent;
}

/** Removes the headers of a response that are not for the client; returns the response. */
function withOwnHeaders(received: IncomingMessage): IncomingMessage {
  for (const name of withheld) delete received.headers[name];
  return received;
}

/**
 * Returns whether a 5xx comes from a component in front of the service, such as a load balancer. Load balancers may
 * respond with JSON too, so only the exact content type identifies a service's envelope.
 */
function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  if (statusCode! < 500) return false;
  return headers['content-type']?.toLowerCase().replaceAll(' ', '') !== 'application/json;charset=utf-8';
}

/** Returns whether a request was sent on a reused connection that the service was closing. */
function isLost(error: Error, { outgoing, isOverdue }: Sending): boolean {
  return reset.has(codeOf(error)) && outgoing?.reusedSocket === true && !isOverdue;
}

function isRepeatable({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || headers['idempotency-key'] !== undefined;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** Interval of the probes of a service that restarts. */
const everyMs = 100;

/**
 * An outage of a service that refuses connections. Requests wait for the service for `holdMs` from the first refused
 * one. A restart ends within that time, and later requests to a service that stays down do not wait.
 */
export class Outage {
  readonly #holdMs: number;
  readonly #isBack: (limitMs: number) => Promise<unknown>;
  readonly #began: () => void;
  readonly #waiting = new Set<(isBack: boolean) => void>();
  #sinceMs: number | undefined;
  #isTrying = false;

  /** `isBack` probes the service and throws if it refuses the connection. `began` is called for the first waiting request. */
  constructor(holdMs: number, isBack: (limitMs: number) => Promise<unknown>, began: () => void) {
    this.#holdMs = holdMs;
    this.#isBack = isBack;
    this.#began = began;
  }

  /** Waits for a service that has just refused a connection; returns whether it is back. */
  wait(): Promise<boolean> {
    this.#sinceMs ??= performance.now();
    if (this.#leftMs() <= 0) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.add(resolve);
    if (this.#waiting.size === 1) this.#began();
    if (!this.#isTrying) void this.#try();
    return promise;
  }

  /** Ends the outage, because the service has responded. */
  end(): void {
    if (this.#sinceMs === undefined) return;
    this.#sinceMs = undefined;
    this.#release(true);
  }

  async #try(): Promise<void> {
    this.#isTrying = true;
    while (this.#waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(everyMs, Math.max(0, this.#leftMs()))));
      const leftMs = this.#leftMs();
      if (leftMs <= 0) this.#release(false);
      else if (await this.#responds(Math.ceil(leftMs))) this.end();
    }
    this.#isTrying = false;
  }

  async #responds(limitMs: number): Promise<boolean> {
    try {
      await this.#isBack(limitMs);
      return true;
    } catch {
      return false;
    }
  }

  #leftMs(): number {
    return this.#sinceMs === undefined ? this.#holdMs : this.#sinceMs + this.#holdMs - performance.now();
  }

  #release(isBack: boolean): void {
    for (const resolve of this.#waiting) resolve(isBack);
    this.#waiting.clear();
  }
}
