import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ApiError } from '@customer-platform/contracts/core';
import { ClientGone, FairPermits, hookAccountHeader, type Logger, PermitQueue } from '@customer-platform/service-kit';
import { createProxyMiddleware, type Options, type Plugin } from 'http-proxy-middleware';
import type { Body } from '../bodies/body-intake.ts';
import { refuse } from '../http/listener.ts';
import { Outage } from './outage.ts';
import { codeOf, connectTimeout, isForeignFailure, isUnconnected, noResponse } from './service-failures.ts';
import { streamOpener } from './stream-opener.ts';
import type { Upstream } from './upstream.ts';

/** Sooner than services close theirs (75 s), so that no request is sent into a socket that closes. */
const idleSocketMs = 60_000;
/** A service that is down is logged once in this time, not with every request. */
const quietMs = 5_000;
/** Most times that a request is sent. */
const maxSends = 5;

/** Errors of a connection that the other side has closed. */
const reset = new Set(['ECONNRESET', 'EPIPE']);

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
  body: Body | undefined;
  /** Lets another request have its socket; idempotent. */
  giveBack(): void;
  outgoing?: ClientRequest;
  sends: number;
  isRepeated: boolean;
  /** The service was silent for too long: it may have the request, and another would wait as long. */
  isOverdue?: true;
}

const sendingOf = Symbol('sending');
type Sent = ServerResponse & { [sendingOf]?: Sending };

/**
 * Returns the upstream of one service: a fixed target with keep-alive connections that owners share. The request's URL
 * and headers are sent as they are at the call. A service that is silent for too long results in 503. A request waits
 * for a service that takes no connections, for as long as `holdMs` allows, and is sent once more if the service closed
 * the connection before it could see it: a GET, or one with an Idempotency-Key, since it may have seen it.
 */
export function forwarder(target: string, service: string, log: Logger, bounds: UpstreamBounds = {}): Upstream {
  const { timeoutMs = 30_000, connectMs = 3_000, sockets = 256, waiting = 1_000, waitMs = 10_000, holdMs = 0 } = bounds;
  const url = new URL(target);
  const { agent, probeAgent, streamAgent } = openAgents(url, { sockets, connectMs });
  const probeAt = (path: string, requestId: string, limitMs: number) =>
    probe(new URL(url.pathname.replace(/\/$/, '') + path, url), probeAgent, requestId, limitMs);
  const outage = new Outage(
    holdMs,
    (limitMs) => probeAt('/healthz', 'outage', limitMs),
    () => log.warn({ target: service, hold_ms: holdMs }, 'service takes no connections; its requests wait for it'),
  );
  const openStream = streamOpener({ url, agent: streamAgent, outage, service, log });
  const send = (request: IncomingMessage, response: Sent) => {
    response[sendingOf]!.sends++;
    void (response[sendingOf]!.body ? proxyWithBody : proxy)(request, response);
  };
  const options: Options = {
    target: url,
    agent,
    proxyTimeout: timeoutMs,
    // The default plugins respond to errors in plain text and are skipped for some requests; ours replace them.
    ejectPlugins: true,
    plugins: [cleanResponses(service, log, outage), handleErrors({ service, log, outage, send })],
  };
  const proxy = createProxyMiddleware(options);
  const proxyWithBody = createProxyMiddleware({
    ...options,
    // Called with a copy of the options for each request: the place where one request's body can be set.
    router: (_request, response, ofRequest) => {
      if (ofRequest) ofRequest.buffer = (response as Sent)[sendingOf]!.body!.stream();
      return url;
    },
  });
  const queue = new PermitQueue(new FairPermits(sockets), waiting, waitMs, 'service_sockets');
  const begin = (request: IncomingMessage, response: Sent, owner: string, body: Body | undefined) => {
    let isHeld = true;
    const giveBack = () => {
      if (isHeld) queue.giveBack(owner);
      isHeld = false;
    };
    response[sendingOf] = { body, giveBack, sends: 0, isRepeated: false };
    response.on('close', giveBack);
    send(request, response);
  };
  const beginLater = async (request: IncomingMessage, response: Sent, owner: string, body: Body | undefined) => {
    try {
      await queue.wait(owner, service, response);
    } catch (error) {
      if (!(error instanceof ClientGone)) refuse(response, error, log);
      return;
    }
    if (response.closed) queue.giveBack(owner);
    else begin(request, response, owner, body);
  };
  return {
    forward(request, response, owner, body) {
      if (response.closed) return;
      if (queue.tryTake(owner)) begin(request, response, owner, body);
      else void beginLater(request, response, owner, body);
    },
    openStream,
    probe: probeAt,
    close: () => {
      agent.destroy();
      streamAgent.destroy();
      probeAgent.destroy();
    },
  };
}

function openAgents({ protocol }: URL, { sockets, connectMs }: { sockets: number; connectMs: number }) {
  const Agent = protocol === 'https:' ? HttpsAgent : HttpAgent;
  const idle = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', timeout: idleSocketMs } as const;
  return {
    // Room for sockets whose response has ended but that are not free yet.
    agent: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: sockets + 32 })),
    // Probes need no permit: however many there are, no request waits behind them.
    probeAgent: connectsWithin(connectMs, new Agent({ ...idle, maxSockets: 32 })),
    // Streams need none either: the keys that have them bound their number.
    streamAgent: connectsWithin(connectMs, new Agent({ keepAlive: false })),
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

function probe(url: URL, agent: HttpAgent, requestId: string, limitMs: number): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const options = { method: 'HEAD', agent, headers: { 'request-id': requestId }, signal: AbortSignal.timeout(limitMs) };
  request(url, options, (response) => {
    response.resume();
    resolve(response);
  })
    .on('error', reject)
    .end();
  return promise;
}

/**
 * Removes headers of the connection with the service, and its caching headers, which are the gateway's to set; replaces
 * a failure without an envelope, such as a balancer's page, by one.
 */
function cleanResponses(service: string, log: Logger, outage: Outage): Plugin {
  return (proxy) => {
    proxy.on('proxyReq', (outgoing, request, response: Sent) => {
      const sending = response[sendingOf];
      if (!sending) return;
      sending.outgoing = outgoing;
      outgoing.once('timeout', () => {
        sending.isOverdue = true;
      });
      // What has reached the service and is never sent twice is not kept for it.
      if (sending.body && !isRepeatable(request)) outgoing.once('finish', sending.body.letGo);
    });
    proxy.on('proxyRes', (received, _request, response: Sent) => {
      outage.end();
      // It is not sent again.
      response[sendingOf]?.body?.letGo();
      const { headers } = received;
      if (isForeignFailure(received)) {
        received.destroy();
        if (!response.headersSent) refuse(response, noResponse(service), log);
        return;
      }
      delete headers['keep-alive'];
      delete headers['request-id'];
      delete headers[hookAccountHeader];
      delete headers['cache-control'];
      delete headers['x-content-type-options'];
      headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
      // The socket is free once the response is read, even if the client reads slowly.
      received.on('end', () => response[sendingOf]?.giveBack());
    });
  };
}

interface ErrorParts {
  service: string;
  log: Logger;
  outage: Outage;
  send(request: IncomingMessage, response: Sent): void;
}

function handleErrors({ service, log, outage, send }: ErrorParts): Plugin {
  let quietUntilMs = 0;
  const tell = (error: Error, requestId: unknown) => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + quietMs;
    log.warn({ err: error, target: service, request_id: requestId }, 'service did not respond; its requests get 503');
  };
  const refuseWith = (error: Error, request: IncomingMessage, response: Sent) => {
    if (!(error instanceof ApiError)) tell(error, response.getHeader('request-id'));
    refuse(response, error instanceof ApiError ? error : noResponse(service), log);
    request.resume();
  };
  return (proxy) => {
    proxy.on('error', (error, request, response) => {
      if (!response || !('setHeader' in response) || response.writableEnded || response.destroyed) return;
      // The client disconnected: nobody waits for a response.
      if (!request || request.socket.destroyed) return;
      const sending = (response as Sent)[sendingOf];
      if (!sending || response.headersSent || sending.sends >= maxSends) refuseWith(error, request, response);
      else if (isUnconnected(error)) {
        void outage.wait().then((isBack) => {
          if (response.closed) return;
          if (isBack) send(request, response);
          else refuseWith(error, request, response);
        });
      } else if (!sending.isRepeated && isLost(error, sending) && isRepeatable(request)) {
        sending.isRepeated = true;
        send(request, response);
      } else refuseWith(error, request, response);
    });
  };
}

/** Returns whether a request went into a connection that the service was closing. */
function isLost(error: Error, { outgoing, isOverdue }: Sending): boolean {
  return reset.has(codeOf(error)) && outgoing?.reusedSocket === true && !isOverdue;
}

function isRepeatable({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || headers['idempotency-key'] !== undefined;
}
