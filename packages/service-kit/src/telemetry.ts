import {
  type Attributes,
  type Context,
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export type { Attributes, Span };
export { SpanKind };

/** Text headers that carry a trace over HTTP, NATS and rows: `traceparent` and, where set, `tracestate`. */
export type TraceHeaders = Record<string, string>;

let enabled = false;
const tracer = trace.getTracer('customer-platform');

/** The process's meter; its instruments cost nothing while telemetry is off. */
export const meter = metrics.getMeter('customer-platform');

/** Whether spans are recorded: hot paths skip their work for telemetry where not. */
export function telemetryEnabled(): boolean {
  return enabled;
}

/**
 * Starts traces and metrics over OTLP/HTTP where `endpoint` is set; the SDK is not even loaded otherwise.
 * Answers a function that flushes and stops.
 */
export async function startTelemetry(service: string, endpoint: string | undefined): Promise<() => Promise<void>> {
  if (!endpoint) return async () => undefined;
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  process.env.OTEL_SERVICE_NAME = service;
  process.env.OTEL_METRICS_EXPORTER ??= 'otlp';
  process.env.OTEL_LOGS_EXPORTER ??= 'none';
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL ??= 'http/protobuf';
  const sdk = new NodeSDK({ instrumentations: [] });
  sdk.start();
  enabled = true;
  return () => sdk.shutdown();
}

/**
 * Runs `work` in a span; an error that it throws is recorded on the span and thrown on.
 * `parent` continues the trace those headers carry, else the active one goes on.
 */
export async function inSpan<Result>(
  name: string,
  options: { kind?: SpanKind; attributes?: Attributes; parent?: TraceHeaders | undefined },
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  if (!enabled) return work(undefined);
  const from = options.parent ? contextFrom(options.parent) : context.active();
  const span = tracer.startSpan(
    name,
    { kind: options.kind ?? SpanKind.INTERNAL, ...(options.attributes ? { attributes: options.attributes } : {}) },
    from,
  );
  try {
    return await context.with(trace.setSpan(from, span), () => work(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed by `error`. */
export function failSpan(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The active trace as headers; empty while telemetry is off. */
export function traceHeaders(): TraceHeaders {
  const headers: TraceHeaders = {};
  if (enabled) propagation.inject(context.active(), headers);
  return headers;
}

function contextFrom(headers: TraceHeaders): Context {
  return propagation.extract(ROOT_CONTEXT, headers);
}
