import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RoutedOperation } from '@customer-platform/contracts/core';
import {
  type Attributes,
  activeRequests,
  httpMethod,
  markFailed,
  metricsEnabled,
  requestDuration,
  type Span,
  setHttpStatus,
  type TraceHeaders,
  traceOfRequest,
} from '@customer-platform/service-kit';
import { isClientGone, type LogRequest, statusOf, whenServed } from './request-log.ts';
import { traceRequest } from './request-trace.ts';

/** Longest path in a span. */
const maxPathLength = 500;
/** Route of hook calls: their token is a secret, which no span, log or metric has. */
const hookRoute = '/hooks/messages/{token}';

/** A request of the public listener; the steps that serve it add what they find out. */
export interface PublicCall {
  readonly requestId: string;
  /** The client waits for 100 Continue before it sends the body. */
  readonly continues: boolean;
  operation?: RoutedOperation;
  accountId?: string;
  isHook?: true;
  /** Headers that continue its trace; undefined while telemetry is off. */
  trace?: TraceHeaders;
}

/**
 * Serves a request, and says how that went when its response has ended, or has begun to stream: one log line, one value of the duration, and a span
 * that is linked with the client's own, each where it is on.
 */
export function observeRequest(
  request: IncomingMessage,
  response: ServerResponse,
  call: PublicCall,
  { log, serve }: { log: LogRequest | undefined; serve: () => Promise<void> },
): void {
  const method = httpMethod(request.method!);
  const attributes = { 'http.request.method': method, 'platform.request_id': call.requestId };
  const trace = traceRequest(method, attributes, traceOfRequest(request.headers));
  if (trace) call.trace = trace.headers;
  const logged = log?.(request, response);
  const measured = metricsEnabled() ? measureRequest(method, call) : undefined;
  const span = trace?.span;
  if (logged || measured || span) {
    const { url } = request;
    // One listener for all: each more is a part of what a small request costs.
    whenServed(response, () => {
      logged?.({ account: call.accountId, operation: operationOf(call), trace_id: trace?.id });
      measured?.(statusOf(response));
      if (span) endSpan(span, { method, url: url!, response, call });
    });
  }
  void (trace ? trace.run(serve) : serve());
}

/** Counts a request as under way; returns what measures it, to be called when it has been served. */
function measureRequest(method: string, call: PublicCall): (status: number) => void {
  const beganMs = performance.now();
  activeRequests.add(1, { 'http.request.method': method });
  return (status) => {
    activeRequests.add(-1, { 'http.request.method': method });
    requestDuration.record((performance.now() - beganMs) / 1_000, routeAttributes(method, call, status));
  };
}

function endSpan(
  span: Span,
  served: { method: string; url: string; response: ServerResponse; call: PublicCall },
): void {
  const { method, url, response, call } = served;
  const route = routeOf(call);
  if (route) span.updateName(`${method} ${route}`);
  span.setAttributes({ ...callAttributes(call), ...(call.isHook ? {} : { 'url.path': pathInSpan(url, call) }) });
  if (isClientGone(response)) markFailed(span, 'client_gone');
  else setHttpStatus(span, response.statusCode);
  span.end();
}

function routeOf({ isHook, operation }: PublicCall): string | undefined {
  return isHook ? hookRoute : operation?.path;
}

function operationOf({ isHook, operation }: PublicCall): string | undefined {
  return isHook ? 'hook' : operation?.key;
}

/** Unknown paths have no route: whoever tries many must not make as many series. */
function routeAttributes(method: string, call: PublicCall, status: number): Attributes {
  const route = routeOf(call);
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    ...(route ? { 'http.route': route } : {}),
  };
}

function callAttributes(call: PublicCall): Attributes {
  const route = routeOf(call);
  const operation = operationOf(call);
  return {
    ...(route ? { 'http.route': route } : {}),
    ...(operation ? { 'platform.operation': operation } : {}),
    ...(call.accountId ? { 'platform.account': call.accountId } : {}),
  };
}

/** Returns the path as a span has it. One of no operation may be a hook's, misspelt: what could be its token is left out of it. */
export function pathInSpan(url: string, { operation }: Pick<PublicCall, 'operation'>): string {
  const path = url.split('?', 1)[0]!.slice(0, maxPathLength);
  return operation ? path : path.replaceAll(/[\w%-]{32,}/g, '{…}');
}
