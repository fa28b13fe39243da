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

/** Sooner than services close theirs (75 s), so that no request is sent into a socket that closes. */
const idleSocketMs = 60_000;
/** A service that is down is logged once in this time, not with every request. */
const quietMs = 5_000;
/** Most times that a request is sent. */
const maxSends = 5;
/** Time in which a service has to begin a stream, and the silence after which a stream is over: a comment comes every 15 s. */
const streamMs = { begin: 30_000, silent: 45_000 };

/** Code of the error of a connection that was not made in time; ETIMEDOUT may also come of one that was. */
const connectTimeout = 'ECONNECTTIMEOUT';
/** Errors of a connection that never was: the service has seen nothing of the request. */
const unconnected = new Set([connectTimeout, 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Errors of a connection that the other side has closed. */
const reset = new Set(['ECONNRESET', 'EPIPE']);

/** Headers of the connection with the service, those that are the gateway's to set, and the one that tells the gateway whose a hook is. */
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

/** The bounds of an upstream. */
interface UpstreamBounds {
  /** Longest time until a service responds, and then of its silence or of a client that does not read. */
  timeoutMs?: number;
  /** Longest time until a connection is made. */
  connectMs?: number;
  /** Most concurrent requests to the service. */
  sockets?: number;
  /** Most requests that wait for a socket, and how long; more are refused. */
  waiting?: number;
  waitMs?: number;
  /** Longest wait of requests for a service that takes no connections, from the first of them. */
  holdMs?: number;
}

/** A request at a service. */
interface Sending {
  request: IncomingMessage;
  response: ServerResponse;
  body: Body | undefined;
  /** Lets another request have its socket; idempotent. */
  giveBack(): void;
  outgoing?: ClientRequest;
  sends: number;
  isRepeated: boolean;
  /** The service was silent for too long: it may have the request, and another would wait as long. */
  isOverdue: boolean;
}

/**
 * Returns the upstream of one service: a fixed target with keep-alive connections that owners share. The request's URL
 * and headers are sent as they are at the call. A service that is silent for too long results in 503. A request waits
 * for a service that takes no connections, for as long as `holdMs` allows, and is sent once more if the service closed
 * the connection before it could see it: a GET, or one with an Idempotency-Key, since it may have seen it.
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
    () => log.warn({ target: service, hold_ms: holdMs }, 'service takes no connections; its requests wait for it'),
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
    outgoing.on('timeout', () => outgoing.destroy(new Error('the service says nothing')));
    const received = await responseTo(outgoing);
    outage.end();
    outgoing.setTimeout(streamMs.silent);
    if (!isForeignFailure(received)) return withOwnHeaders(received);
    outgoing.destroy();
    throw new Error(`the service began no stream: ${received.statusCode}`);
  };

  const openStream = async (request: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage> => {
    for (let sends = 1; ; sends++) {
      try {
        return await openStreamOnce(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (sends < maxSends && unconnected.has(codeOf(error)) && (await outage.wait())) continue;
        signal.throwIfAborted();
        log.warn({ err: error, target: service }, 'service began no stream; the request gets 503');
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
    // What has reached the service and is never sent twice is not kept for it.
    if (!isRepeatable(request)) outgoing.once('finish', body.letGo);
    body.stream().pipe(outgoing);
  };

  const receive = ({ response, body, outgoing, giveBack }: Sending, received: IncomingMessage): void => {
    outage.end();
    // It is not sent again. A body that the service has not read yet ends with its response.
    if (outgoing!.writableFinished) body?.letGo();
    if (isForeignFailure(received)) {
      received.destroy();
      refuse(response, noResponse(), log);
      return;
    }
    // The socket is free once the response is read, even if the client reads slowly.
    received.once('end', giveBack);
    const { headers } = withOwnHeaders(received);
    headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
    response.writeHead(received.statusCode!, headers);
    passOn(received, response);
  };

  const fail = (sending: Sending, error: Error): void => {
    const { response, sends, isRepeated, request } = sending;
    // Nobody waits for a response, or the one that has begun ends with its connection.
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
    const giveBack = () => {
      if (isHeld) queue.giveBack(owner);
      isHeld = false;
    };
    response.on('close', giveBack);
    send({ request, response, body, giveBack, sends: 0, isRepeated: false, isOverdue: false });
  };
  const beginLater = async (request: IncomingMessage, response: ServerResponse, owner: string, body?: Body) => {
    try {
      await queue.wait(owner, service, response);
    } catch (error) {
      if (!(error instanceof ClientGone)) refuse(response, error, log);
      return;
    }
    if (response.closed) queue.giveBack(owner);
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

/** Passes a response on, as fast as the client takes it. */
export function passOn(received: IncomingMessage, response: ServerResponse): void {
  // A service that ends amid its response, or cuts a reader of a stream off: the client learns it by its connection.
  received.once('close', () => {
    if (!received.complete && !response.writableEnded) response.destroy();
  });
  received.on('error', () => undefined);
  received.pipe(response);
}

type Head = Pick<IncomingMessage, 'method' | 'url'> & { headers: IncomingHttpHeaders };

/** Returns a function that begins a request to a service, with its target as it was signed: a URL made of it would be escaped again. */
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
    // Room for sockets whose response has ended but that are not free yet.
    requests: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: sockets + 32 })),
    // Probes need no permit: however many there are, no request waits behind them.
    probes: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: 32 })),
    // Streams need none either: the keys that have them bound their number.
    streams: connectsWithin(connectMs, new Agent({ keepAlive: false })),
  };
}

/**
 * Has an agent give up a connection that is not made within `connectMs`: to a machine that is gone nobody is refused, and each request would
 * wait for as long as for a response. Returns the agent.
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

/** Removes the headers of a response that are not for the client; returns it. */
function withOwnHeaders(received: IncomingMessage): IncomingMessage {
  for (const name of withheld) delete received.headers[name];
  return received;
}

/**
 * Returns whether a 5xx is of something before a service, such as a balancer, and no envelope. Balancers have pages of 5xx in JSON as well: those of our
 * services are told from them by their whole content type.
 */
function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  if (statusCode! < 500) return false;
  return headers['content-type']?.toLowerCase().replaceAll(' ', '') !== 'application/json;charset=utf-8';
}

/** Returns whether a request went into a connection that the service was closing. */
function isLost(error: Error, { outgoing, isOverdue }: Sending): boolean {
  return reset.has(codeOf(error)) && outgoing?.reusedSocket === true && !isOverdue;
}

function isRepeatable({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || headers['idempotency-key'] !== undefined;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** A service that restarts is tried this often. */
const everyMs = 100;

/**
 * A service that takes no connections. Requests wait for it for `holdMs` from the first one that it refused: a service that restarts is
 * back by then, and one that is gone makes nobody wait longer.
 */
export class Outage {
  readonly #holdMs: number;
  readonly #isBack: (limitMs: number) => Promise<unknown>;
  readonly #began: () => void;
  readonly #waiting = new Set<(isBack: boolean) => void>();
  #sinceMs: number | undefined;
  #isTrying = false;

  /** `isBack` tries the service, and throws where it takes no connection; `began` is called for the first request that waits. */
  constructor(holdMs: number, isBack: (limitMs: number) => Promise<unknown>, began: () => void) {
    this.#holdMs = holdMs;
    this.#isBack = isBack;
    this.#began = began;
  }

  /** Waits for the service, which has just refused a connection; returns whether it is back. */
  wait(): Promise<boolean> {
    this.#sinceMs ??= performance.now();
    if (this.#leftMs() <= 0) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.add(resolve);
    if (this.#waiting.size === 1) this.#began();
    if (!this.#isTrying) void this.#try();
    return promise;
  }

  /** Ends it: the service has responded. */
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
