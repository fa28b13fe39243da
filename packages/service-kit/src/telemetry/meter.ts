import {
  type Attributes,
  type BatchObservableCallback,
  type Counter,
  type Histogram,
  type MetricOptions,
  metrics,
  type Observable,
} from '@opentelemetry/api';
import { gaugeReader, type Measure } from './gauge-reader.ts';
import { metricsEnabled } from './telemetry.ts';

const sdkMeter = () => metrics.getMeter('customer-platform');

/** Bounds of the buckets of histograms in seconds: those of the OpenTelemetry conventions for requests. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Sums values by one attribute here, and tells the sums when metrics are collected: adding costs nearly nothing. */
function summed(create: () => Observable, attribute: string) {
  const sums = new Map<string, number>();
  let isObserved = false;
  return {
    add(value: number, of: string): void {
      if (!metricsEnabled()) return;
      sums.set(of, (sums.get(of) ?? 0) + value);
      if (isObserved) return;
      isObserved = true;
      create().addCallback((result) => {
        for (const [each, sum] of sums) result.observe(sum, { [attribute]: each });
      });
    },
  };
}

/**
 * The process's meter. Counters and histograms may be made when a module loads: they come into being with their first value,
 * since the API has no meter that waits for its SDK, and cost nothing while metrics are off.
 */
export const meter = {
  createCounter(name: string, options: MetricOptions) {
    let counter: Counter | undefined;
    return {
      add(value: number, attributes?: Attributes): void {
        if (!metricsEnabled()) return;
        counter ??= sdkMeter().createCounter(name, options);
        counter.add(value, attributes);
      },
    };
  },
  /** A number that goes up and down, by one attribute. */
  createUpDownCounter: (name: string, options: MetricOptions, attribute: string) =>
    summed(() => sdkMeter().createObservableUpDownCounter(name, options), attribute),
  /** A counter of what every request does, by one attribute. */
  createSummedCounter: (name: string, options: MetricOptions, attribute: string) =>
    summed(() => sdkMeter().createObservableCounter(name, options), attribute),
  createHistogram(name: string, options: MetricOptions) {
    let histogram: Histogram | undefined;
    const advice = options.unit === 's' ? { explicitBucketBoundaries: secondsBuckets } : {};
    return {
      record(value: number, attributes?: Attributes): void {
        if (!metricsEnabled()) return;
        histogram ??= sdkMeter().createHistogram(name, { advice, ...options });
        histogram.record(value, attributes);
      },
    };
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
