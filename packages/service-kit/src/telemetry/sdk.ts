import { hostname } from 'node:os';
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  CompositePropagator,
  getNumberFromEnv,
  getStringFromEnv,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import type { IMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

/**
 * Options of the OpenTelemetry SDK, whose parts the platform sets up itself by the standard variables. The SDK's package for Node.js supports more
 * (gRPC, Zipkin, B3, config files), and loads twice as many modules as the rest of a process.
 */
interface SdkOptions {
  attributes: Record<string, string>;
  /** Whether spans are exported. */
  traces: boolean;
  /** Targets of metrics, `otlp` or `prometheus`; an empty list exports none. */
  metrics: string[];
}

/**
 * Registers the SDK with OpenTelemetry's API; returns a function that flushes and stops it.
 * @throws Error that names a variable with an unsupported value
 */
export async function startSdk(wanted: SdkOptions): Promise<() => Promise<unknown>> {
  requireSupported('OTEL_TRACES_EXPORTER', /^(otlp|none)$/, 'otlp or none');
  requireSupported('OTEL_PROPAGATORS', /^[ ,]*((tracecontext|baggage)[ ,]*)*$/, 'tracecontext, baggage or both');
  requireSupported('OTEL_CONFIG_FILE', /^$/, 'empty');
  const resource = defaultResource()
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
    .merge(resourceFromAttributes({ 'host.name': hostname(), ...wanted.attributes }));
  const providers = [
    ...(wanted.metrics.length > 0 ? [await startMetrics(resource, wanted.metrics)] : []),
    ...(wanted.traces ? [await startTraces(resource)] : []),
  ];
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  return () => Promise.all(providers.map((provider) => provider.shutdown()));
}

async function startTraces(resource: Resource): Promise<TracerProvider> {
  const { OTLPTraceExporter } =
    protocol('TRACES') === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const batches = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    ...given('maxQueueSize', 'OTEL_BSP_MAX_QUEUE_SIZE'),
    ...given('scheduledDelayMillis', 'OTEL_BSP_SCHEDULE_DELAY'),
    ...given('exportTimeoutMillis', 'OTEL_BSP_EXPORT_TIMEOUT'),
    ...given('maxExportBatchSize', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  });
  const provider = new TracerProvider({ resource, sampler: sampler(), spanProcessors: [batches] });
  trace.setGlobalTracerProvider(provider);
  return provider;
}

async function startMetrics(resource: Resource, names: string[]) {
  const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const readers = await Promise.all(
    names.map(async (name): Promise<IMetricReader> => {
      if (name === 'prometheus') {
        const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus');
        const host = getStringFromEnv('OTEL_EXPORTER_PROMETHEUS_HOST');
        return new PrometheusExporter({
          ...(host === undefined ? {} : { host }),
          ...given('port', 'OTEL_EXPORTER_PROMETHEUS_PORT'),
        });
      }
      if (name !== 'otlp') throw unsupported('OTEL_METRICS_EXPORTER', name, 'otlp, prometheus or none');
      const { OTLPMetricExporter } =
        protocol('METRICS') === 'http/json'
          ? await import('@opentelemetry/exporter-metrics-otlp-http')
          : await import('@opentelemetry/exporter-metrics-otlp-proto');
      return new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(),
        ...given('exportIntervalMillis', 'OTEL_METRIC_EXPORT_INTERVAL'),
        ...given('exportTimeoutMillis', 'OTEL_METRIC_EXPORT_TIMEOUT'),
      });
    }),
  );
  const provider = new MeterProvider({ resource, readers });
  metrics.setGlobalMeterProvider(provider);
  return provider;
}

function protocol(signal: 'TRACES' | 'METRICS'): string {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const variable = getStringFromEnv(own) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : own;
  const value = getStringFromEnv(variable) ?? 'http/protobuf';
  if (value === 'http/json' || value === 'http/protobuf') return value;
  throw unsupported(variable, value, 'http/protobuf or http/json');
}

/** Returns the sampler that OTEL_TRACES_SAMPLER names. By default it records each trace that the caller records or that begins here. */
function sampler(): Sampler {
  const name = getStringFromEnv('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const [, parentBased, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? [];
  if (kind === undefined)
    throw unsupported('OTEL_TRACES_SAMPLER', name, 'always_on, always_off or traceidratio (also as parentbased_…)');
  const roots = { always_on: AlwaysOnSampler, always_off: AlwaysOffSampler };
  const root = kind === 'traceidratio' ? ratioSampler() : new roots[kind as keyof typeof roots]();
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function ratioSampler(): Sampler {
  requireSupported('OTEL_TRACES_SAMPLER_ARG', /^(0(\.\d{1,20})?|1(\.0{1,20})?)$/, 'a number from 0 to 1');
  return new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1);
}

/** Returns an option with the number of a variable, or nothing if it is not set. */
function given<Option extends string>(option: Option, variable: string): { [Name in Option]?: number } {
  const value = getNumberFromEnv(variable);
  return (value === undefined ? {} : { [option]: value }) as { [Name in Option]?: number };
}

/** Throws if a variable has an unsupported value. */
function requireSupported(variable: string, pattern: RegExp, supported: string): void {
  const value = getStringFromEnv(variable);
  if (value !== undefined && !pattern.test(value)) throw unsupported(variable, value, supported);
}

function unsupported(variable: string, value: string, supported: string): Error {
  return new Error(`${variable} must be ${supported}, not "${value}"`);
}
