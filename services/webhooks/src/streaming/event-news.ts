import { randomUUID } from 'node:crypto';
import type { Bus } from '@customer-platform/service-kit';

/** Topics between this service's processes: one announces open streams, the other names accounts with new events. */
const interestTopic = 'event-streams';
const recordedTopic = 'recorded-events';
/** Interval at which a process with open streams announces them, and how long an announcement counts. Two in a row may be lost. */
const sayEveryMs = 5_000;
const interestMs = 16_000;

/**
 * Notifies this service's processes of newly recorded events while any of them has open streams. A process that misses
 * a notification finds the events by polling.
 */
export class EventNews {
  readonly #bus: Bus;
  readonly #id = randomUUID();
  readonly #timer: NodeJS.Timeout;
  #interestUntilMs = Number.NEGATIVE_INFINITY;
  #hasStreams: () => boolean;

  /** Calls `recorded` with the accounts for which another process recorded events, and `missed` after notifications may have been lost. */
  constructor(
    bus: Bus,
    { hasStreams, recorded, missed }: { hasStreams(): boolean; recorded(accountIds: string[]): void; missed(): void },
  ) {
    this.#bus = bus;
    this.#hasStreams = hasStreams;
    bus.onNews('webhooks', interestTopic, () => {
      this.#interestUntilMs = performance.now() + interestMs;
    });
    bus.onNews('webhooks', recordedTopic, (payload) => {
      const [from, ...accountIds] = payload.split(' ');
      if (from !== this.#id) recorded(accountIds);
    });
    bus.onReconnect(() => {
      this.ask();
      missed();
    });
    this.#timer = setInterval(() => this.ask(), sayEveryMs);
  }

  /** Requests notifications from all processes if this one has open streams. */
  ask(): void {
    if (this.#hasStreams()) this.#bus.publishNews(interestTopic);
  }

  /** Announces recorded events by account. Call it after the commit. */
  publish(accountIds: ReadonlySet<string>): void {
    if (performance.now() < this.#interestUntilMs)
      this.#bus.publishNews(recordedTopic, [this.#id, ...accountIds].join(' '));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
