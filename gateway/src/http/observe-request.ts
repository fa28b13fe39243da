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
/** Longest path in a span. */
const maxPathLength = 500;

/** A request of the public listener; the steps that serve it add what they find out. */
export interface PublicCall {
  readonly requestId: string;
  /** The client waits for 100 Continue before it sends the body. */
  readonly continues: boolean;
  operation?: RoutedOperation;
  /** The client's, once it is known. */
  address?: string;
  /** Its key, once that is known to be one, refused or not. */
  key?: ServedRequest['key'] & { readonly last4: string };
  /** Of a call with a token in its path: a secret, which no span, log or metric has. */
  hook?: { route: string; operation: string; form: RegExp };
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
  // One listener for all: each more is a part of what a small request costs.
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

/** Counts a request as under way; returns what measures it, to be called when it has been served. */
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

/** Returns the error code of a response that refuses, whoever made it. */
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

/** Unknown paths have no route: whoever tries many must not make as many series. */
function routeAttributes(method: string, call: PublicCall, status: number): Attributes {
  const route = routeOf(call);
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    ...(route ? { 'http.route': route } : {}),
  };
}

/** Returns the path as a span has it. One of no operation may be a hook's, misspelt: what could be its token is left out of it. */
export function pathInSpan(url: string, { operation }: Pick<PublicCall, 'operation'>): string {
  const path = url.split('?', 1)[0]!.slice(0, maxPathLength);
  return operation ? path : path.replaceAll(/[\w%-]{32,}/g, '{…}');
}

/** The trace of a request that comes from outside. */
interface RequestTrace {
  id: string;
  /** They continue it, recorded or not: each process after this one does as was decided here. */
  headers: TraceHeaders;
  /** Undefined where the trace is not recorded. To be ended by the caller. */
  span: Span | undefined;
  /** Runs work as its part; a trace that is not recorded has no parts, and this costs nothing. */
  run<Result>(work: () => Result): Result;
}

/**
 * Begins the trace of a request; undefined while telemetry is off. Its span is linked with the client's own, `linked`, instead of continuing
 * it: what is recorded is for us to decide.
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
    // By hand, since the SDK's way by a context takes as long as the span itself; a trace that begins here has no state.
    headers: { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` },
  };
  if (!span.isRecording()) return { ...common, span: undefined, run: (work) => work() };
  const own = trace.setSpan(ROOT_CONTEXT, span);
  return { ...common, span, run: (work) => context.with(own, work) };
}
