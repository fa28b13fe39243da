import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Logger } from '@customer-platform/service-kit';
import type { Outage } from './outage.ts';
import { isForeignFailure, isUnconnected, noResponse } from './service-failures.ts';

/** Time in which a service has to begin a stream. */
const beginMs = 30_000;
/** Silence after which a stream is over: a comment comes every 15 s. */
const silentMs = 45_000;
/** Most times that a request for a stream is sent. */
const maxSends = 5;

/** Headers of the connection with the service, and those that are the gateway's to set. */
const ofConnection = [
  'cache-control',
  'connection',
  'date',
  'keep-alive',
  'request-id',
  'transfer-encoding',
  'x-content-type-options',
];

/** A service that streams are opened at. */
interface StreamTarget {
  url: URL;
  agent: Agent;
  outage: Outage;
  service: string;
  log: Logger;
}

/**
 * Returns a function that sends the head of a request, and resolves to the response once that has begun. A service that takes no connections
 * is waited for as long as its outage allows. Throws 503, and the signal's reason.
 */
export function streamOpener({ url, agent, outage, service, log }: StreamTarget) {
  const send = (incoming: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = incoming.headers;
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    // The target as it was signed: a URL made of it would be escaped again.
    const path = url.pathname.replace(/\/$/, '') + incoming.url!;
    const target = { ...urlToHttpOptions(url), path, method: incoming.method! };
    const outgoing = request({ ...target, agent, headers, signal, timeout: beginMs });
    outgoing.on('timeout', () => outgoing.destroy(new Error('the service says nothing')));
    outgoing.on('error', reject);
    outgoing.on('response', (received) => {
      outage.end();
      outgoing.setTimeout(silentMs);
      for (const name of ofConnection) delete received.headers[name];
      if (isForeignFailure(received))
        outgoing.destroy(new Error(`the service began no stream: ${received.statusCode}`));
      else resolve(received);
    });
    outgoing.end();
    return promise;
  };
  return async (incoming: IncomingMessage, signal: AbortSignal): Promise<IncomingMessage> => {
    for (let sends = 1; ; sends++) {
      try {
        return await send(incoming, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (sends < maxSends && isUnconnected(error as Error) && (await outage.wait())) continue;
        signal.throwIfAborted();
        log.warn({ err: error, target: service }, 'service began no stream; the request gets 503');
        throw noResponse(service);
      }
    }
  };
}
