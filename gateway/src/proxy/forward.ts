import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { type Logger, serviceUnavailable } from '@customer-platform/service-kit';
import { createProxyMiddleware, type Options, type Plugin } from 'http-proxy-middleware';
import { ClientGone, FairPermits, PermitQueue } from '../fair-permits.ts';
import type { Upstream } from '../upstream.ts';
import { refuse } from './answer.ts';

/** Sooner than services close theirs (75 s), so that no request is sent into a socket that closes. */
const idleSocketMs = 60_000;
/** A service that is down is logged once in this time, not with every request. */
const quietMs = 5_000;

/** The bounds of an upstream. */
export interface UpstreamBounds {
  /** How long a service may take to answer, and, once it answers, be silent or wait for a client that does not read. */
  timeoutMs: number;
  /** Most requests that are at the service at once. */
  sockets: number;
  /** Most requests that wait for a socket, and how long; more are refused. */
  waiting: number;
  waitMs: number;
}

const defaultBounds: UpstreamBounds = { timeoutMs: 30_000, sockets: 256, waiting: 1_000, waitMs: 10_000 };

const permit = Symbol('permit');
type Permitted = ServerResponse & { [permit]?: (() => void) | undefined };

/**
 * Makes the upstream of one service: a fixed target and connections that are kept, which the owners of requests share. The request's URL
 * and headers are sent as they are when it is called. A service that is silent for too long is answered for with 503.
 */
export function forwarder(
  target: string,
  service: string,
  log: Logger,
  bounds: Partial<UpstreamBounds> = {},
): Upstream {
  const { timeoutMs, sockets, waiting, waitMs } = { ...defaultBounds, ...bounds };
  const url = new URL(target);
  const Agent = url.protocol === 'https:' ? HttpsAgent : HttpAgent;
  const idle = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', timeout: idleSocketMs } as const;
  // Room for sockets that an answer has left but that are not free yet.
  const agent = new Agent({ ...idle, maxSockets: sockets + 32 });
  // Nobody needs a permit for a probe: however many there are, no request waits behind them.
  const probeAgent = new Agent({ ...idle, maxSockets: 32 });
  const bodies = new WeakMap<IncomingMessage, Readable>();
  const options: Options = {
    target: url,
    agent,
    proxyTimeout: timeoutMs,
    // The default plugins answer errors in plain text and are skipped for some requests; ours replace them.
    ejectPlugins: true,
    plugins: [cleanAnswers(service, log), answerErrors(service, log)],
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
  const queue = new PermitQueue(new FairPermits(sockets), waiting, waitMs);
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
  request(url, options, (answer) => {
    answer.resume();
    resolve(answer.statusCode!);
  })
    .on('error', reject)
    .end();
  return promise;
}

/**
 * What belongs to the connection with the service does not belong to the one with the client; whether an answer may be kept is the
 * gateway's to say; and a failure that is not told as an envelope, such as a balancer's page, becomes one.
 */
function cleanAnswers(service: string, log: Logger): Plugin {
  return (proxy) => {
    proxy.on('proxyRes', (answer, _request, response: Permitted) => {
      const { headers } = answer;
      if (answer.statusCode! >= 500 && !headers['content-type']?.startsWith('application/json')) {
        answer.destroy();
        if (!response.headersSent) refuse(response, noAnswer(service), log);
        return;
      }
      delete headers['keep-alive'];
      delete headers['request-id'];
      delete headers['cache-control'];
      delete headers['x-content-type-options'];
      headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
      // The socket is free once the answer is read, even where the client takes its time with it.
      answer.on('end', () => response[permit]?.());
    });
  };
}

function answerErrors(service: string, log: Logger): Plugin {
  let quietUntilMs = 0;
  const tell = (error: Error, requestId: unknown) => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + quietMs;
    log.warn({ err: error, target: service, request_id: requestId }, 'a service did not answer; its requests are 503');
  };
  return (proxy) => {
    proxy.on('error', (error, request, response) => {
      if (!response || !('setHeader' in response) || response.writableEnded || response.destroyed) return;
      // Nobody waits for an answer any more: the client went away.
      if (request?.socket.destroyed) return;
      if (!(error instanceof ApiError)) tell(error, response.getHeader('request-id'));
      refuse(response, error instanceof ApiError ? error : noAnswer(service), log);
      request?.resume();
    });
  };
}

function noAnswer(service: string): ApiError {
  return serviceUnavailable(`${service} does not respond; try again shortly`);
}
