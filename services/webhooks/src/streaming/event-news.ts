import { randomUUID } from 'node:crypto';
import type { Bus } from '@customer-platform/service-kit';

/** Topics among this service's news: that a process has streams open, and whose events were recorded. */
const interestTopic = 'event-streams';
const recordedTopic = 'recorded-events';
/** Interval at which a process with streams open says so, and for how long that counts: twice it may be lost. */
const sayEveryMs = 5_000;
const interestMs = 16_000;

/**
 * Tells the processes of this service whose events were recorded, as long as one of them has streams open: otherwise nothing is sent.
 * What it does not tell, a process finds out by its poll.
 */
export class EventNews {
  readonly #bus: Bus;
  readonly #id = randomUUID();
  readonly #timer: NodeJS.Timeout;
  #interestUntilMs = Number.NEGATIVE_INFINITY;
  #hasStreams: () => boolean;

  /** Calls `hear` with the accounts of events that another process recorded; `missed` after news may have been missed. */
  constructor(
    bus: Bus,
    { hasStreams, hear, missed }: { hasStreams(): boolean; hear(accountIds: string[]): void; missed(): void },
  ) {
    this.#bus = bus;
    this.#hasStreams = hasStreams;
    bus.hearOf('webhooks', interestTopic, () => {
      this.#interestUntilMs = performance.now() + interestMs;
    });
    bus.hearOf('webhooks', recordedTopic, (payload) => {
      const [from, ...accountIds] = payload.split(' ');
      if (from !== this.#id) hear(accountIds);
    });
    bus.onBack(() => {
      this.ask();
      missed();
    });
    this.#timer = setInterval(() => this.ask(), sayEveryMs);
  }

  /** Asks every process for news, where this one has streams open. */
  ask(): void {
    if (this.#hasStreams()) this.#bus.tell(interestTopic);
  }

  /** Tells whose events were recorded, after their commit. */
  tell(accountIds: ReadonlySet<string>): void {
    if (performance.now() < this.#interestUntilMs) this.#bus.tell(recordedTopic, [this.#id, ...accountIds].join(' '));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
