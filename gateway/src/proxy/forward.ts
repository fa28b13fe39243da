import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { ClientGone, FairPermits, type Logger, PermitQueue, serviceUnavailable } from '@customer-platform/service-kit';
import { createProxyMiddleware, type Options, type Plugin } from 'http-proxy-middleware';
import type { Upstream } from '../upstream.ts';
import { refuse } from './respond.ts';

/** Sooner than services close theirs (75 s), so that no request is sent into a socket that closes. */
const idleSocketMs = 60_000;
/** A service that is down is logged once in this time, not with every request. */
const quietMs = 5_000;

/** The bounds of an upstream. */
interface UpstreamBounds {
  /** Longest time until a service responds, and then of its silence or of a client that does not read. */
  timeoutMs?: number;
  /** Most concurrent requests to the service. */
  sockets?: number;
  /** Most requests that wait for a socket, and how long; more are refused. */
  waiting?: number;
  waitMs?: number;
}

const permit = Symbol('permit');
type Permitted = ServerResponse & { [permit]?: (() => void) | undefined };

/**
 * Returns the upstream of one service: a fixed target with keep-alive connections that owners share. The request's URL
 * and headers are sent as they are at the call. A service that is silent for too long results in 503.
 */
export function forwarder(target: string, service: string, log: Logger, bounds: UpstreamBounds = {}): Upstream {
  const { timeoutMs = 30_000, sockets = 256, waiting = 1_000, waitMs = 10_000 } = bounds;
  const url = new URL(target);
  const Agent = url.protocol === 'https:' ? HttpsAgent : HttpAgent;
  const idle = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', timeout: idleSocketMs } as const;
  // Room for sockets whose response has ended but that are not free yet.
  const agent = new Agent({ ...idle, maxSockets: sockets + 32 });
  // Probes need no permit: however many there are, no request waits behind them.
  const probeAgent = new Agent({ ...idle, maxSockets: 32 });
  const bodies = new WeakMap<IncomingMessage, Readable>();
  const options: Options = {
    target: url,
    agent,
    proxyTimeout: timeoutMs,
    // The default plugins respond to errors in plain text and are skipped for some requests; ours replace them.
    ejectPlugins: true,
    plugins: [cleanResponses(service, log), handleErrors(service, log)],
  };
  const proxy = createProxyMiddleware(options);
  const proxyWithBody = createProxyMiddleware({
    ...options,
    // Called with a copy of the options for each request: the place where one request's body can be set.
    router: (request, _response, ofRequest) => {
      const body = bodies.get(request);
      if (body && ofRequest) ofRequest.buffer = body;
      return url;
    },
  });
  const queue = new PermitQueue(new FairPermits(sockets), waiting, waitMs, 'service_sockets');
  const send = (request: IncomingMessage, response: Permitted, owner: string, body: Readable | undefined) => {
    const giveBack = () => {
      if (response[permit] !== giveBack) return;
      response[permit] = undefined;
      queue.giveBack(owner);
    };
    response[permit] = giveBack;
    response.on('close', giveBack);
    if (body) bodies.set(request, body);
    void (body ? proxyWithBody : proxy)(request, response);
  };
  const sendLater = async (
    request: IncomingMessage,
    response: ServerResponse,
    owner: string,
    body: Readable | undefined,
  ) => {
    try {
      await queue.wait(owner, service, response);
    } catch (error) {
      if (!(error instanceof ClientGone)) refuse(response, error, log);
      return;
    }
    if (response.closed) queue.giveBack(owner);
    else send(request, response, owner, body);
  };
  return {
    forward(request, response, owner, body) {
      if (response.closed) return;
      if (queue.tryTake(owner)) send(request, response, owner, body);
      else void sendLater(request, response, owner, body);
    },
    probe: (path, requestId, limitMs) =>
      probe(new URL(url.pathname.replace(/\/$/, '') + path, url), probeAgent, requestId, limitMs),
    close: () => {
      agent.destroy();
      probeAgent.destroy();
    },
  };
}

function probe(url: URL, agent: HttpAgent, requestId: string, limitMs: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const options = { method: 'HEAD', agent, headers: { 'request-id': requestId }, signal: AbortSignal.timeout(limitMs) };
  request(url, options, (response) => {
    response.resume();
    resolve(response.statusCode!);
  })
    .on('error', reject)
    .end();
  return promise;
}

/**
 * Removes headers of the connection with the service, and its caching headers, which are the gateway's to set; replaces
 * a failure without an envelope, such as a balancer's page, by one.
 */
function cleanResponses(service: string, log: Logger): Plugin {
  return (proxy) => {
    proxy.on('proxyRes', (received, _request, response: Permitted) => {
      const { headers } = received;
      if (received.statusCode! >= 500 && !headers['content-type']?.startsWith('application/json')) {
        received.destroy();
        if (!response.headersSent) refuse(response, noResponse(service), log);
        return;
      }
      delete headers['keep-alive'];
      delete headers['request-id'];
      delete headers['cache-control'];
      delete headers['x-content-type-options'];
      headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
      // The socket is free once the response is read, even if the client reads slowly.
      received.on('end', () => response[permit]?.());
    });
  };
}

function handleErrors(service: string, log: Logger): Plugin {
  let quietUntilMs = 0;
  const tell = (error: Error, requestId: unknown) => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + quietMs;
    log.warn({ err: error, target: service, request_id: requestId }, 'service did not respond; its requests get 503');
  };
  return (proxy) => {
    proxy.on('error', (error, request, response) => {
      if (!response || !('setHeader' in response) || response.writableEnded || response.destroyed) return;
      // The client disconnected: nobody waits for a response.
      if (request?.socket.destroyed) return;
      if (!(error instanceof ApiError)) tell(error, response.getHeader('request-id'));
      refuse(response, error instanceof ApiError ? error : noResponse(service), log);
      request?.resume();
    });
  };
}

function noResponse(service: string): ApiError {
  return serviceUnavailable(`${service} does not respond; try again shortly`);
}
