import { randomUUID } from 'node:crypto';
import type { Bus } from '@customer-platform/service-kit';

const topic = 'alive';
const beatMs = 1_000;
/** A gateway without a heartbeat for this long does not count. */
const silentMs = 3_500;

/** Counts the gateways of the installation by the heartbeat that each sends over the bus every second. */
export class LiveGateways {
  readonly #bus: Bus;
  readonly #id = randomUUID();
  readonly #heardAtMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  /** Starts announcing and counting. */
  constructor(bus: Bus) {
    this.#bus = bus;
    bus.onNews('gateway', topic, (id) => {
      // A new gateway knows no others yet, so announce this one at once.
      if (id !== this.#id && !this.#heardAtMs.has(id)) bus.publishNews(topic, this.#id);
      this.#heardAtMs.set(id, performance.now());
    });
    bus.publishNews(topic, this.#id);
    this.#timer = setInterval(() => this.#beat(), beatMs);
  }

  /** Returns the number of gateways including this one. While the bus is unavailable it is the last known number. */
  count(): number {
    return Math.max(1, this.#heardAtMs.size);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    if (!this.#bus.isConnected()) return;
    this.#bus.publishNews(topic, this.#id);
    const limitMs = performance.now() - silentMs;
    const self = this.#heardAtMs.get(this.#id);
    // If this gateway's own heartbeat is missing, the bus was unavailable, and the others' silence means nothing.
    if (self === undefined || self < limitMs) return;
    for (const [id, heardAtMs] of this.#heardAtMs) if (heardAtMs < limitMs) this.#heardAtMs.delete(id);
  }
}
