import {
  type Attributes,
  type BatchObservableCallback,
  type Context,
  type Counter,
  context,
  type Histogram,
  type MetricOptions,
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

const sdkMeter = () => metrics.getMeter('customer-platform');

/**
 * The process's meter. Counters and histograms may be made when a module loads: they come into being with their first value,
 * since the API has no meter that waits for its SDK, and cost nothing while telemetry is off.
 */
export const meter = {
  createCounter(name: string, options: MetricOptions) {
    let counter: Counter | undefined;
    return {
      add(value: number, attributes?: Attributes): void {
        if (!enabled) return;
        counter ??= sdkMeter().createCounter(name, options);
        counter.add(value, attributes);
      },
    };
  },
  createHistogram(name: string, options: MetricOptions) {
    let histogram: Histogram | undefined;
    return {
      record(value: number, attributes?: Attributes): void {
        if (!enabled) return;
        histogram ??= sdkMeter().createHistogram(name, options);
        histogram.record(value, attributes);
      },
    };
  },
  /**
   * Observes gauges, named by their metrics, each time metrics are collected: `measure` says their values. Returns a function that ends
   * it. To be called once telemetry has started; does nothing while it is off.
   */
  observe<Name extends string>(
    metricOptions: Record<Name, MetricOptions>,
    measure: (observe: (name: Name, value: number, attributes?: Attributes) => void) => Promise<void> | void,
  ): () => void {
    if (!enabled) return () => undefined;
    const names = Object.keys(metricOptions) as Name[];
    const gauges = new Map(names.map((name) => [name, sdkMeter().createObservableGauge(name, metricOptions[name])]));
    const callback: BatchObservableCallback = (result) =>
      measure((name, value, attributes) => result.observe(gauges.get(name)!, value, attributes));
    sdkMeter().addBatchObservableCallback(callback, [...gauges.values()]);
    return () => sdkMeter().removeBatchObservableCallback(callback, [...gauges.values()]);
  },
};

/** Returns whether spans are recorded: hot paths skip their work for telemetry where not. */
export function telemetryEnabled(): boolean {
  return enabled;
}

/**
 * Starts traces and metrics over OTLP/HTTP where `endpoint` is set; the SDK is not even loaded otherwise.
 * Returns a function that flushes and stops.
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

/**
 * Runs one piece of work that serves several traces, such as a batch of events: a consumer span in each of them, active is
 * the first. `work` gets the headers that continue each trace from its span (undefined: no trace, or telemetry is off).
 */
export async function inSpans<Result>(
  name: string,
  attributes: Attributes,
  parents: readonly (TraceHeaders | undefined)[],
  work: (continued: readonly (TraceHeaders | undefined)[]) => Promise<Result>,
): Promise<Result> {
  if (!enabled) return work(parents);
  const contexts = parents.map((parent) => {
    const from = parent ? contextFrom(parent) : ROOT_CONTEXT;
    return trace.setSpan(from, tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes }, from));
  });
  const spans = contexts.map((each) => trace.getSpan(each)!);
  try {
    const continued = contexts.map((each) => headersOf(each));
    return await context.with(contexts[0] ?? ROOT_CONTEXT, () => work(continued));
  } catch (error) {
    for (const span of spans) failSpan(span, error);
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}

/** Marks a span as failed by `error`. */
export function failSpan(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The active trace as headers; empty while telemetry is off. */
export function traceHeaders(): TraceHeaders {
  return enabled ? headersOf(context.active()) : {};
}

/** The same for what keeps it in a row: null where there is none. */
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
