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
 * Measures gauges, one measurement at a time. A collection gets the latest values: those of its own measurement if that ends in time, else
 * those of the one before. What is no longer observed is 0, because the SDK would repeat its last value for as long as the process lives.
 */
export class GaugeReader<Name extends string> {
  readonly #measure: Measure<Name>;
  #latest = new Map<string, Observation<Name>>();
  #running: Promise<void> | undefined;

  constructor(measure: Measure<Name>) {
    this.#measure = measure;
  }

  /** Returns the latest values. Throws what the measurement throws; where it is only late, nothing. */
  async read(): Promise<Iterable<Observation<Name>>> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    await withTimeout(collectMs, this.#running).catch((error: unknown) => {
      if (!(error instanceof TimedOut)) throw error;
    });
    return this.#latest.values();
  }

  async #run(): Promise<void> {
    const values = new Map<string, Observation<Name>>();
    await this.#measure((name, value, attributes) => {
      values.set(`${name} ${JSON.stringify(attributes)}`, { name, value, attributes });
    });
    for (const [key, { name, attributes }] of this.#latest) {
      if (!values.has(key)) values.set(key, { name, value: 0, attributes });
    }
    this.#latest = values;
  }
}
