import type { Attributes } from '@opentelemetry/api';
import { TimedOut, withTimeout } from '../values/with-timeout.ts';

/** Time that a collection waits for values. A scrape has a deadline, and most of its metrics need no database. */
const collectMs = 500;

/** Says the values of gauges to `observe`. */
export type Measure<Name extends string> = (
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
