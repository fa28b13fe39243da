import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  type Context,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Logger } from 'pino';
import { withTimeout } from '../values/with-timeout.ts';

export type { Attributes, Span };
export { SpanKind };

/** Headers that carry a trace over HTTP, NATS and rows: `traceparent` and, if set, `tracestate`. */
export type TraceHeaders = Record<string, string>;

/** Id of this process, new with each start. */
export const processInstance = randomUUID();
/** Time at which this process started. */
export const processStartedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString();

let tracing = false;
let measuring = false;
const tracer = trace.getTracer('customer-platform');

/** Returns whether spans are recorded. If not, hot paths skip their work for traces. */
export function telemetryEnabled(): boolean {
  return tracing;
}

/** Returns whether metrics are collected. */
export function metricsEnabled(): boolean {
  return measuring;
}

/**
 * Starts traces and metrics over OTLP/HTTP if `endpoint` is set, and Prometheus metrics if OTEL_METRICS_EXPORTER lists them. Otherwise it does
 * not even load the SDK. Returns a function that flushes and stops.
 * @throws Error that names an OTEL_… variable with an unsupported value
 */
export async function startTelemetry(
  endpoint: string | undefined,
  { service, version, log }: { service: string; version: string; log: Logger },
): Promise<() => Promise<void>> {
  const { env } = process;
  const exporters = new Set(
    (env.OTEL_METRICS_EXPORTER || (endpoint ? 'otlp' : 'none')).split(',').map((one) => one.trim()),
  );
  // Without a collector there is no target; the SDK would choose a port by itself.
  if (!endpoint) exporters.delete('otlp');
  const hasMetrics = exporters.size > 0 && !exporters.has('none');
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || !(endpoint || hasMetrics)) return async () => undefined;
  tracing = endpoint !== undefined && env.OTEL_TRACES_EXPORTER !== 'none';
  measuring = hasMetrics;
  diag.setLogger(quietLogger(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const { startSdk } = await import('./sdk.ts');
  const stop = await startSdk({
    attributes: { 'service.name': service, 'service.version': version, 'service.instance.id': processInstance },
    traces: tracing,
    metrics: hasMetrics ? [...exporters] : [],
  });
  return async () => {
    // The collector may have stopped before, such as the gateway's own. Then nothing is logged, and no retry is awaited.
    diag.disable();
    await withTimeout(flushMs, stop()).catch(() => undefined);
  };
}

/** Time that a stopping process has to export remaining data. */
const flushMs = 2_000;
/** Minimum time between log lines about problems of the SDK, such as an unavailable collector. Each export reports them. */
const quietMs = 60_000;
/** Age of a process from which refused connections are logged. A collector that starts with the process is not ready before. */
const startMs = 30_000;

function quietLogger(log: Logger) {
  let quietUntilMs = 0;
  // The SDK declares a string but also passes errors.
  const tell = (message: unknown) => {
    // On partial success, the collector counts the spans that it drops, since a large trace exceeds its limit.
    if (String(message).startsWith('Received Partial Success')) return;
    if (performance.now() < startMs && String(message).includes('ECONNREFUSED')) return;
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + quietMs;
    log.warn({ detail: String(message).slice(0, 1_000) }, 'telemetry is not exported');
  };
  const ignore = () => undefined;
  return { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
}

/** Options of a span. */
interface SpanOptions {
  kind?: SpanKind;
  attributes?: Attributes;
  /** Continues the trace of these headers instead of the active one. */
  parent?: TraceHeaders | undefined;
  /** Starts no span without a trace to continue. For work that polls also do, which would start endless traces. */
  continuesOnly?: true;
}

/** Runs `work` in a span. Records an error that it throws on the span and rethrows it. */
export async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  if (!tracing) return work(undefined);
  const from = options.parent ? contextFrom(options.parent) : context.active();
  if (options.continuesOnly && !trace.getSpan(from)) return work(undefined);
  const span = tracer.startSpan(name, options, from);
  try {
    return await context.with(trace.setSpan(from, span), () => work(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Starts a span of the active trace, which the caller ends; undefined without a recorded trace. */
export function childSpan(name: () => string, options: () => SpanOptions): Span | undefined {
  if (!tracing || !trace.getActiveSpan()?.isRecording()) return undefined;
  return tracer.startSpan(name(), options());
}

/**
 * Runs one piece of work that serves several traces, such as a batch of events. Starts a consumer span in each; the first one is active.
 * `work` gets the headers that continue each trace from its span, undefined without a trace or telemetry.
 * `each` holds the parent and the own attributes of each span.
 */
export async function inSpans<Result>(
  name: string,
  attributes: Attributes,
  each: readonly { parent: TraceHeaders | undefined; attributes: Attributes }[],
  work: (continued: readonly (TraceHeaders | undefined)[]) => Promise<Result>,
): Promise<Result> {
  if (!tracing) return work(each.map(({ parent }) => parent));
  const contexts = each.map(({ parent, attributes: own }) => {
    const from = parent ? contextFrom(parent) : ROOT_CONTEXT;
    const options = { kind: SpanKind.CONSUMER, attributes: { ...attributes, ...own } };
    return trace.setSpan(from, tracer.startSpan(name, options, from));
  });
  const spans = contexts.map((one) => trace.getSpan(one)!);
  try {
    const continued = contexts.map((one) => headersOf(one));
    return await context.with(contexts[0] ?? ROOT_CONTEXT, () => work(continued));
  } catch (error) {
    for (const span of spans) failSpan(span, error);
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}

/** Marks a span as failed by `error`, and records its message and stack. */
function failSpan(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  markFailed(span, errorType(error));
}

/** Marks a span as failed; `type` is its error.type: a status, a code, or the name of an error's class. */
export function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** Returns the name of an error in spans and metrics. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Adds attributes to the active span. */
export function describeSpan(attributes: Attributes): void {
  if (tracing) trace.getActiveSpan()?.setAttributes(attributes);
}

/** Records the status of a response on a span. A status from `failedFrom` on is an error; a server's own errors begin at 500. */
export function setHttpStatus(span: Span | undefined, status: number, failedFrom = 500): void {
  if (!span) return;
  span.setAttribute('http.response.status_code', status);
  if (status >= failedFrom) markFailed(span, String(status));
}

/** Methods in the OpenTelemetry conventions. */
const httpMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE']);

/** Returns a method for spans and metrics. Any other is `_OTHER`, so that clients cannot create names. */
export function httpMethod(method: string): string {
  return httpMethods.has(method) ? method : '_OTHER';
}

/** Returns the trace that a request over HTTP continues, if any. */
export function traceOfRequest({ traceparent, tracestate }: IncomingHttpHeaders): TraceHeaders | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' ? { tracestate } : {}) };
}

/** Returns the active trace as headers; empty while telemetry is off. */
export function traceHeaders(): TraceHeaders {
  return tracing ? headersOf(context.active()) : {};
}

/** Returns the active trace to store in a row; null without a trace. */
export function activeTrace(): TraceHeaders | null {
  const headers = traceHeaders();
  return headers.traceparent ? headers : null;
}

function headersOf(from: Context): TraceHeaders {
  const headers: TraceHeaders = {};
  propagation.inject(from, headers);
  return headers;
}

function contextFrom(headers: TraceHeaders): Context {
  return propagation.extract(ROOT_CONTEXT, headers);
}
