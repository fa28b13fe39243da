import type { IncomingHttpHeaders } from 'node:http';
import { contextHeader } from '@customer-platform/service-kit';

/** Client headers that are never forwarded: identity, those of one connection, and those that proxies add. */
const withheld = new Set([
  'authorization',
  'baggage',
  'connection',
  contextHeader,
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'request-id',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'upgrade',
  'via',
  'x-real-ip',
]);

/** Headers that frame the body: kept even if `Connection` names them, or the body would arrive without its bounds. */
const framing = new Set(['content-length', 'transfer-encoding']);

/**
 * Returns the headers of a request for its service: the client's own without the withheld ones and those that
 * `Connection` names, then ours. They replace the request's headers before the proxy sees it, so that nothing can leave
 * them out.
 */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  ours: { context: string | undefined; requestId: string; trace: Record<string, string> | undefined },
): IncomingHttpHeaders {
  const named = namedByConnection(headers.connection);
  const forwarded: IncomingHttpHeaders = {};
  for (const name in headers) {
    if (withheld.has(name) || name.startsWith('x-forwarded-') || name.startsWith('platform-')) continue;
    if (named?.has(name)) continue;
    forwarded[name] = headers[name];
  }
  if (ours.context !== undefined) forwarded[contextHeader] = ours.context;
  forwarded['request-id'] = ours.requestId;
  if (ours.trace) Object.assign(forwarded, ours.trace);
  return forwarded;
}

function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const names = connection.toLowerCase().split(',');
  return new Set(names.map((name) => name.trim()).filter((name) => !framing.has(name)));
}
