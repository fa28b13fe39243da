import { Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ApiError } from '@customer-platform/contracts/core';
import { type Logger, serviceUnavailable } from '@customer-platform/service-kit';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import { refuse } from './answer.ts';
import { cutBody } from './body-limit.ts';

/** How long a service may take to answer, and, once it answers, be silent. */
const serviceTimeoutMs = 30_000;
/** Sooner than services close theirs (75 s), so that no request is sent into a socket that closes. */
const idleSocketMs = 60_000;
const maxSockets = 256;
/** Most requests that wait for a socket; more are refused rather than queued without bound. */
const maxWaiting = 1_000;
/** A service that is down is written down once in this time, not with every request. */
const quietMs = 5_000;

/** The way to one service. */
export interface Forwarder {
  /** Sends a request on; what cannot be sent is answered 503. */
  forward(request: IncomingMessage, response: ServerResponse): void;
  /** Ends the connections that are kept. */
  close(): void;
}

/**
 * Makes the way to one service: a fixed target and connections that are kept. The request's URL and headers are sent
 * as they are when it is called; the body is streamed. A service that is silent for `timeoutMs` is answered for with
 * 503.
 */
export function forwarder(target: string, service: string, log: Logger, timeoutMs = serviceTimeoutMs): Forwarder {
  const url = new URL(target);
  const Agent = url.protocol === 'https:' ? HttpsAgent : HttpAgent;
  const agent = new Agent({
    keepAlive: true,
    maxSockets,
    maxFreeSockets: 64,
    scheduling: 'lifo',
    timeout: idleSocketMs,
  });
  const proxy = createProxyMiddleware({
    target: url,
    agent,
    proxyTimeout: timeoutMs,
    // The default plugins answer errors in plain text and are skipped for some requests; ours replace them.
    ejectPlugins: true,
    plugins: [cutOversizedBodies, cleanAnswers, answerErrors(service, log)],
  });
  const pool = agent.getName({ host: url.hostname, port: Number(url.port) || undefined });
  return {
    forward(request, response) {
      const waiting = agent.requests[pool];
      if (waiting !== undefined && waiting.length >= maxWaiting) {
        refuse(response, serviceUnavailable(`${service} is busy; try again shortly`), log);
        return;
      }
      void proxy(request, response);
    },
    close: () => agent.destroy(),
  };
}

/** Emitted when the way to the service is open, before the first byte of the body goes. */
const cutOversizedBodies: Plugin = (proxy) => {
  proxy.on('proxyReq', (outgoing, request, response) => cutBody(outgoing, request, response));
};

/** What belongs to the connection with the service does not belong to the one with the client. */
const cleanAnswers: Plugin = (proxy) => {
  proxy.on('proxyRes', (answer, _request, response) => {
    const { headers } = answer;
    delete headers['keep-alive'];
    delete headers['request-id'];
    headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close';
  });
};

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
      const refusal =
        error instanceof ApiError ? error : serviceUnavailable(`${service} does not answer; try again shortly`);
      refuse(response, refusal, log);
      request?.resume();
    });
  };
}
