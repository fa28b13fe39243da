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
 * The parts of the OpenTelemetry SDK that the platform uses, set up by the standard's variables. Its package for Node.js reads more of
 * them (gRPC, Zipkin, B3, files of settings), and loads twice as many modules as everything else of a process together.
 */
interface Wanted {
  attributes: Record<string, string>;
  /** Whether spans are exported. */
  traces: boolean;
  /** `otlp`, `prometheus`: where metrics go; none without any. */
  metrics: string[];
}

/**
 * Registers what is wanted with OpenTelemetry's API; returns what flushes and stops it.
 * @throws Error that names a variable whose value is not supported
 */
export async function startSdk(wanted: Wanted): Promise<() => Promise<unknown>> {
  requireSupported('OTEL_TRACES_EXPORTER', /^(otlp|none)$/, 'otlp and none');
  requireSupported('OTEL_PROPAGATORS', /^[ ,]*((tracecontext|baggage)[ ,]*)*$/, 'tracecontext and baggage');
  requireSupported('OTEL_CONFIG_FILE', /^$/, 'no files');
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
      if (name !== 'otlp') throw unsupported('OTEL_METRICS_EXPORTER', name, 'otlp, prometheus and none');
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
  throw unsupported(variable, value, 'http/protobuf and http/json');
}

/** Returns the sampler that the standard's names say: by default every trace that its caller records or that begins here. */
function sampler(): Sampler {
  const name = getStringFromEnv('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const [, parentBased, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? [];
  if (kind === undefined)
    throw unsupported('OTEL_TRACES_SAMPLER', name, 'always_on, always_off, traceidratio, each also after parentbased_');
  const roots = { always_on: AlwaysOnSampler, always_off: AlwaysOffSampler };
  const root = kind === 'traceidratio' ? ratioSampler() : new roots[kind as keyof typeof roots]();
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function ratioSampler(): Sampler {
  requireSupported('OTEL_TRACES_SAMPLER_ARG', /^(0(\.\d{1,20})?|1(\.0{1,20})?)$/, 'numbers from 0 to 1');
  return new TraceIdRatioBasedSampler(getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG') ?? 1);
}

/** Returns an option with the number of a variable, nothing where it is not set. */
function given<Option extends string>(option: Option, variable: string): { [Name in Option]?: number } {
  const value = getNumberFromEnv(variable);
  return (value === undefined ? {} : { [option]: value }) as { [Name in Option]?: number };
}

/** Throws where a variable is set to what the platform does not support. */
function requireSupported(variable: string, pattern: RegExp, supported: string): void {
  const value = getStringFromEnv(variable);
  if (value !== undefined && !pattern.test(value)) throw unsupported(variable, value, supported);
}

function unsupported(variable: string, value: string, supported: string): Error {
  return new Error(`${variable} is "${value}": supported are ${supported}`);
}
