import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RoutedOperation } from '@customer-platform/contracts/core';
import {
  activeRequests,
  httpMethod,
  markFailed,
  meter,
  metricsEnabled,
  requestDuration,
  setHttpStatus,
  type TraceHeaders,
  telemetryEnabled,
  traceOfRequest,
} from '@customer-platform/service-kit';
import { type Attributes, context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { ServedRequest, TrafficCounter } from '../traffic/traffic-counter.ts';
import { isClientGone, type LogRequest, statusOf, whenServed } from './request-log.ts';

const tracer = trace.getTracer('customer-platform');
const refusals = meter.createCounter('gateway.requests.refused', {
  description: 'Requests that were refused, by error code.',
});
/** Maximum length of a path in a span. */
const maxPathLength = 500;

/** A request of the public listener. Each step that serves it adds what it learns. */
export interface PublicCall {
  readonly requestId: string;
  /** The client waits for 100 Continue before it sends the body. */
  readonly continues: boolean;
  operation?: RoutedOperation;
  /** The client's address, once it is known. */
  address?: string;
  /** The request's key, once it is known to be valid, even if the request is refused. */
  key?: ServedRequest['key'] & { readonly last4: string };
  /** Set for a path with a token, which is a secret: no span, log line or metric contains it. */
  hook?: { route: string; operation: string; form: RegExp };
  /** Headers that continue the trace. Undefined while telemetry is off. */
  trace?: TraceHeaders;
}

/**
 * Serves a request and reports its result when the response has ended or has begun to stream. Writes a log line, a
 * duration and a span linked to the client's span, each if it is enabled.
 */
export function observeRequest(
  request: IncomingMessage,
  response: ServerResponse,
  call: PublicCall,
  { log, traffic, serve }: { log: LogRequest | undefined; traffic: TrafficCounter; serve: () => Promise<void> },
): void {
  const beganMs = performance.now();
  const method = httpMethod(request.method!);
  const attributes = { 'http.request.method': method, 'platform.request_id': call.requestId };
  const trace = traceRequest(method, attributes, traceOfRequest(request.headers));
  if (trace) call.trace = trace.headers;
  const logged = log?.(request, response);
  const measured = metricsEnabled() ? measureRequest(method, call) : undefined;
  const span = trace?.span;
  const { url } = request;
  // One listener for all of these, because each listener adds measurable cost to a small request.
  whenServed(response, () => {
    const status = statusOf(response);
    const ms = performance.now() - beganMs;
    const code = status < 400 ? undefined : errorCodeOf(response);
    logged?.({ account: call.key?.account.id, operation: operationOf(call), trace_id: trace?.id });
    measured?.(status, ms);
    if (code !== undefined) refusals.add(1, { 'platform.error_code': code });
    if (span) endSpan(span, { method, url: url!, response, call, code });
    const { key, address } = call;
    traffic.count({ key, address, status, code, ms });
  });
  void (trace ? trace.run(serve) : serve());
}

/** Counts a request as active. Returns a function that records its duration, to be called when it has been served. */
function measureRequest(method: string, call: PublicCall): (status: number, ms: number) => void {
  activeRequests.add(1, { 'http.request.method': method });
  return (status, ms) => {
    activeRequests.add(-1, { 'http.request.method': method });
    requestDuration.record(ms / 1_000, routeAttributes(method, call, status));
  };
}

function endSpan(
  span: Span,
  served: { method: string; url: string; response: ServerResponse; call: PublicCall; code: string | undefined },
): void {
  const { method, url, response, call, code } = served;
  const route = routeOf(call);
  if (route) span.updateName(`${method} ${route}`);
  span.setAttributes({
    'http.route': route,
    'platform.operation': operationOf(call),
    'platform.account': call.key?.account.id,
    'platform.key': call.key?.last4,
    'platform.error_code': code,
    'client.address': call.address,
    'url.path': call.hook ? undefined : pathInSpan(url, call),
  });
  if (isClientGone(response)) markFailed(span, 'client_gone');
  else setHttpStatus(span, response.statusCode);
  span.end();
}

/** Returns the error code of a refusal, whether the gateway or a service sent it. */
function errorCodeOf(response: ServerResponse): string | undefined {
  const code = response.getHeader('error-code');
  return typeof code === 'string' ? code : undefined;
}

function routeOf({ hook, operation }: PublicCall): string | undefined {
  return hook?.route ?? operation?.path;
}

function operationOf({ hook, operation }: PublicCall): string | undefined {
  return hook?.operation ?? operation?.key;
}

/** Returns a request's metric attributes. Unknown paths have no route, so that a client that tries many creates no series. */
function routeAttributes(method: string, call: PublicCall, status: number): Attributes {
  const route = routeOf(call);
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    ...(route ? { 'http.route': route } : {}),
  };
}

/** Returns the path for a span. A path without an operation may be a misspelled inbound webhook, so possible tokens are replaced. */
export function pathInSpan(url: string, { operation }: Pick<PublicCall, 'operation'>): string {
  const path = url.split('?', 1)[0]!.slice(0, maxPathLength);
  return operation ? path : path.replaceAll(/[\w%-]{32,}/g, '{…}');
}

/** The trace of a request from outside the platform. */
interface RequestTrace {
  id: string;
  /** Headers that continue the trace, recorded or not. Later processes follow this sampling decision. */
  headers: TraceHeaders;
  /** Undefined if the trace is not recorded. The caller ends it. */
  span: Span | undefined;
  /** Runs `work` as part of the trace. For a trace that is not recorded this only calls `work`. */
  run<Result>(work: () => Result): Result;
}

/**
 * Begins the trace of a request. Returns undefined while telemetry is off. Its span is linked to the client's span
 * `linked` instead of continuing it, so that the platform decides what is recorded.
 */
function traceRequest(
  name: string,
  attributes: Attributes,
  linked: TraceHeaders | undefined,
): RequestTrace | undefined {
  if (!telemetryEnabled()) return undefined;
  const client = linked && trace.getSpanContext(propagation.extract(ROOT_CONTEXT, linked));
  const links = client ? [{ context: client }] : [];
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes, links, root: true }, ROOT_CONTEXT);
  const { traceId, spanId, traceFlags } = span.spanContext();
  const common = {
    id: traceId,
    // Written by hand: the SDK's propagation takes as long as the span itself. A trace that begins here has no state.
    headers: { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` },
  };
  if (!span.isRecording()) return { ...common, span: undefined, run: (work) => work() };
  const own = trace.setSpan(ROOT_CONTEXT, span);
  return { ...common, span, run: (work) => context.with(own, work) };
}
