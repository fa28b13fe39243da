import { type KeyObject, randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation, ServiceName } from '@customer-platform/contracts/core';
import { type Logger, serviceUnavailable, telemetryEnabled, traceHeaders } from '@customer-platform/service-kit';
import { sendMe } from '../accounts/me.ts';
import { contextOf } from '../keys/key-record.ts';
import { type AdmissionParts, admit, authorise, checkBlock, operationAt } from './admission.ts';
import { refuse } from './answer.ts';
import { defaultBodyLimit, limitBody } from './body-limit.ts';
import type { Forwarder } from './forward.ts';
import { forwardedHeaders } from './forwarded-headers.ts';
import type { RequestHandler } from './listener.ts';
import { readRequestPath } from './request-path.ts';
import type { RouteTable } from './route-table.ts';
import { traceRequest } from './trace-request.ts';

/** What the public listener is made of. */
export interface PublicParts extends AdmissionParts {
  log: Logger;
  routes: RouteTable;
  /** The way to each service that has an address. */
  services: ReadonlyMap<ServiceName, Forwarder>;
  contextKey: KeyObject;
  addressOf(request: IncomingMessage): string;
  /** Serves health and documentation, which need no key; answers whether the path was one of theirs. */
  serveHealth(request: IncomingMessage, response: ServerResponse): boolean;
  serveDocs(request: IncomingMessage, response: ServerResponse): boolean;
}

/** Makes the handler of every public request. It never throws; each answer carries its own Request-Id. */
export function publicHandler(parts: PublicParts): RequestHandler {
  return (request, response, continues) => {
    const requestId = randomUUIDv7();
    response.setHeader('Request-Id', requestId);
    if (!telemetryEnabled()) void serve(parts, request, response, requestId, continues);
    else void traceRequest(request, response, requestId, () => serve(parts, request, response, requestId, continues));
  };
}

/** Serves one request; answers the operation where it got so far, for the trace. */
async function serve(
  parts: PublicParts,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  continues: boolean,
): Promise<Operation | undefined> {
  try {
    if (parts.serveHealth(request, response)) return undefined;
    const address = parts.addressOf(request);
    checkBlock(parts.guard, address);
    if (parts.serveDocs(request, response)) return undefined;
    if (request.url!.startsWith('/hooks/')) {
      forwardHook(parts, request, response, requestId, continues);
      return undefined;
    }
    const record = await admit(parts, request, response, address);
    const path = readRequestPath(request.url!);
    const route = path && parts.routes.find(path.segments);
    if (route && request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: route.allow }).end();
      return undefined;
    }
    const operation = operationAt(route, request.method!);
    authorise(record, operation);
    if (operation.service === 'gateway') sendMe(response, record);
    else {
      const way = wayTo(parts, operation.service);
      limitBody(request, response, operation.bodyLimit ?? defaultBodyLimit);
      const { service } = operation;
      const { target } = path!;
      const context = contextOf(record, parts.contextKey, { service, method: request.method!, target }, Date.now());
      request.url = target;
      send(way, request, response, { context, requestId }, continues);
    }
    return operation;
  } catch (error) {
    // The body that the client holds back will not come: the connection cannot be used on.
    if (continues) response.setHeader('Connection', 'close');
    refuse(response, error, parts.log);
    return undefined;
  }
}

/** Messages' providers call without a key; what they send is verified by the service. */
function forwardHook(
  parts: PublicParts,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  continues: boolean,
): void {
  const path = readRequestPath(request.url!);
  const [, module, token, ...more] = path?.segments ?? [];
  const isHook = module === 'messages' && token !== undefined && more.length === 0;
  const way = isHook && parts.services.get('messaging');
  if (!way) operationAt(undefined, request.method!);
  else {
    limitBody(request, response, defaultBodyLimit);
    request.url = path!.target;
    send(way, request, response, { context: undefined, requestId }, continues);
  }
}

function wayTo(parts: PublicParts, service: ServiceName): Forwarder {
  const way = parts.services.get(service);
  if (!way) throw serviceUnavailable(`${service} is not running here; try again later`);
  return way;
}

function send(
  way: Forwarder,
  request: IncomingMessage,
  response: ServerResponse,
  ours: { context: string | undefined; requestId: string },
  continues: boolean,
): void {
  const trace = telemetryEnabled() ? traceHeaders() : undefined;
  request.headers = forwardedHeaders(request.headers, { ...ours, trace });
  if (continues) response.writeContinue();
  way.forward(request, response);
}
