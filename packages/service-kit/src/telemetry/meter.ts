import { type Attributes, type BatchObservableCallback, type MetricOptions, metrics } from '@opentelemetry/api';
import { TimedOut, withTimeout } from '../values/with-timeout.ts';
import { metricsEnabled } from './telemetry.ts';

const sdkMeter = () => metrics.getMeter('customer-platform');

/** Bounds of the buckets of histograms in seconds: those of the OpenTelemetry conventions for requests. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Returns what gives an instrument, made when it is asked for first; undefined while metrics are off. */
function lazily<Instrument>(create: () => Instrument): () => Instrument | undefined {
  let made: Instrument | undefined;
  return () => {
    if (metricsEnabled()) made ??= create();
    return made;
  };
}

/**
 * The process's meter. Instruments may be made when a module loads: they come into being with their first value, since the API has no meter
 * that waits for its SDK, and cost nothing while metrics are off.
 */
export const meter = {
  createCounter(name: string, options: MetricOptions) {
    const counter = lazily(() => sdkMeter().createCounter(name, options));
    return { add: (value: number, attributes?: Attributes) => counter()?.add(value, attributes) };
  },
  /** A number that goes up and down. */
  createUpDownCounter(name: string, options: MetricOptions) {
    const counter = lazily(() => sdkMeter().createUpDownCounter(name, options));
    return { add: (value: number, attributes?: Attributes) => counter()?.add(value, attributes) };
  },
  createHistogram(name: string, options: MetricOptions) {
    const advice = options.unit === 's' ? { explicitBucketBoundaries: secondsBuckets } : {};
    const histogram = lazily(() => sdkMeter().createHistogram(name, { advice, ...options }));
    return { record: (value: number, attributes?: Attributes) => histogram()?.record(value, attributes) };
  },
  /**
   * Observes gauges, named by their metrics, each time metrics are collected: `measure` says their values, which are the next collection's
   * where it takes longer than one waits. Returns a function that ends it. To be called once telemetry has started; does nothing while
   * metrics are off.
   */
  observe<Name extends string>(metricOptions: Record<Name, MetricOptions>, measure: Measure<Name>): () => void {
    if (!metricsEnabled()) return () => undefined;
    const names = Object.keys(metricOptions) as Name[];
    const gauges = new Map(names.map((name) => [name, sdkMeter().createObservableGauge(name, metricOptions[name])]));
    const read = gaugeReader(measure);
    const callback: BatchObservableCallback = async (result) => {
      for (const { name, value, attributes } of await read()) result.observe(gauges.get(name)!, value, attributes);
    };
    sdkMeter().addBatchObservableCallback(callback, [...gauges.values()]);
    return () => sdkMeter().removeBatchObservableCallback(callback, [...gauges.values()]);
  },
};

/** Time that a collection waits for values. A scrape has a deadline, and most of its metrics need no database. */
const collectMs = 500;

/** Says the values of gauges to `observe`. */
type Measure<Name extends string> = (
  observe: (name: Name, value: number, attributes?: Attributes) => void,
) => Promise<void> | void;

interface Observation<Name extends string> {
  name: Name;
  value: number;
  attributes: Attributes | undefined;
}

/**
 * Returns what measures gauges, one measurement at a time. A collection gets the latest values: those of its own measurement if that ends in time,
 * else those of the one before. What is no longer observed is 0, because the SDK would repeat its last value for as long as the process lives.
 * Throws what the measurement throws.
 */
export function gaugeReader<Name extends string>(measure: Measure<Name>): () => Promise<Iterable<Observation<Name>>> {
  let latest = new Map<string, Observation<Name>>();
  let running: Promise<void> | undefined;
  const run = async () => {
    const values = new Map<string, Observation<Name>>();
    for (const [key, before] of latest) values.set(key, { ...before, value: 0 });
    await measure((name, value, attributes) => {
      values.set(`${name} ${JSON.stringify(attributes)}`, { name, value, attributes });
    });
    latest = values;
  };
  return async () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    await withTimeout(collectMs, running).catch((error: unknown) => {
      if (!(error instanceof TimedOut)) throw error;
    });
    return latest.values();
  };
}
