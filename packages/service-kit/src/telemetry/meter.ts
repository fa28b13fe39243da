import { type Attributes, type BatchObservableCallback, type MetricOptions, metrics } from '@opentelemetry/api';
import { TimedOut, withTimeout } from '../values/with-timeout.ts';
import { metricsEnabled } from './telemetry.ts';

const sdkMeter = () => metrics.getMeter('customer-platform');

/** Bucket bounds of histograms in seconds, from the OpenTelemetry conventions for requests. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Returns a getter that creates an instrument at first use; undefined while metrics are off. */
function lazily<Instrument>(create: () => Instrument): () => Instrument | undefined {
  let made: Instrument | undefined;
  return () => {
    if (metricsEnabled()) made ??= create();
    return made;
  };
}

/**
 * The process's meter. A module may declare instruments when it loads. Each is created with its first value, since the API's meter does not
 * wait for an SDK. Instruments cost nothing while metrics are off.
 */
export const meter = {
  createCounter(name: string, options: MetricOptions) {
    const counter = lazily(() => sdkMeter().createCounter(name, options));
    return { add: (value: number, attributes?: Attributes) => counter()?.add(value, attributes) };
  },
  /** Creates a counter that goes up and down. */
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
   * Observes gauges by metric name at each collection of metrics. `measure` reports their values; if it takes longer than a collection waits, they
   * count for the next one. Returns a function that stops observing. Call it once telemetry has started. Does nothing while metrics are off.
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

/** Reports the values of gauges to `observe`. */
type Measure<Name extends string> = (
  observe: (name: Name, value: number, attributes?: Attributes) => void,
) => Promise<void> | void;

interface Observation<Name extends string> {
  name: Name;
  value: number;
  attributes: Attributes | undefined;
}

/**
 * Returns a reader of gauges, which runs one measurement at a time. A collection gets the values of its own measurement if that ends in time,
 * else the previous ones. A gauge no longer observed becomes 0, since the SDK would repeat its last value until the process ends.
 * Rejects with the measurement's error.
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
