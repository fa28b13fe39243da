import { ApiError } from '@customer-platform/contracts/core';
import type { Logger } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { backoffMs } from '../values/backoff.ts';

const rounds = meter.createCounter('platform.loop.rounds', { description: 'Rounds of background loops.' });

/** Failures in a row that are not logged while another service is unavailable. They take 13 s, in which a restarted service is back. */
const quietFailures = 6;

/** Pace of a loop; all times are in milliseconds. */
interface Pace {
  everyMs: number | (() => number);
  slowestRetryMs: number;
  gatherMs?: number;
  log: Logger;
}

/**
 * Runs `work` repeatedly, never twice at once: when woken, and at the latest `everyMs` after the last round. A round that returns true, or during
 * which the loop was woken, is followed by the next at once. Retries of a failed round wait longer each time, up to `slowestRetryMs`, and a wake
 * does not shorten that. The log gets the first failure in a row, or the seventh if another service is unavailable, and then every 30th.
 * With `gatherMs`, a woken round begins at least that long after the last one ended, so that one round serves many wakes. A lone wake starts one at
 * once. `everyMs` may be a function, which is called after each round. With Infinity the loop waits for a wake.
 */
export class WakeLoop {
  readonly #name: string;
  readonly #work: () => Promise<boolean | undefined>;
  readonly #pace: Pace;
  readonly #log: Logger;
  readonly #loop: Promise<void>;
  #wakeUp: (() => unknown) | undefined;
  #isWoken = false;
  #isStopping = false;

  constructor(name: string, pace: Pace, work: () => Promise<boolean | undefined>) {
    this.#name = name;
    this.#work = work;
    this.#pace = pace;
    this.#log = pace.log.child({ loop: name });
    this.#loop = this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  /** Ends after the round under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wakeUp?.();
    await this.#loop;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // the constructor returns before the first round
    const { everyMs, slowestRetryMs, gatherMs = 0 } = this.#pace;
    for (let failures = 0, isLogged = false; !this.#isStopping; ) {
      this.#isWoken = false;
      rounds.add(1, { loop: this.#name });
      let hasMore: boolean | undefined = false;
      try {
        hasMore = await this.#work();
        failures = 0;
        isLogged = false;
      } catch (error) {
        failures++;
        const isExpected = error instanceof ApiError && error.status === 503 && failures <= quietFailures;
        if (!isExpected && (!isLogged || failures % 30 === 0)) {
          isLogged = true;
          this.#log.error({ err: error, failures }, 'a round of work failed; retrying later');
        }
      }
      const endedMs = performance.now();
      if (failures > 0) {
        const retryMs = backoffMs({ firstMs: 200, longestMs: slowestRetryMs }, failures);
        await this.#pause(retryMs, () => this.#isStopping);
      } else if (!hasMore) {
        await this.#pause(typeof everyMs === 'number' ? everyMs : everyMs(), () => this.#isWoken || this.#isStopping);
        const remainingMs = endedMs + gatherMs - performance.now();
        if (remainingMs > 0 && this.#isWoken) await this.#pause(remainingMs, () => this.#isStopping);
      }
    }
  }

  /** Waits until the time has passed, or until a wake finds that `isOver` returns true. */
  async #pause(delayMs: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const timer = Number.isFinite(delayMs) ? setTimeout(end, Math.max(0, delayMs)) : undefined;
    this.#wakeUp = () => isOver() && end();
    await ended;
    clearTimeout(timer);
    this.#wakeUp = undefined;
  }
}
