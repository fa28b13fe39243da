import { ApiError } from '@customer-platform/contracts/core';
import type { Logger } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { backoffMs } from '../values/backoff.ts';

const rounds = meter.createCounter('platform.loop.rounds', { description: 'Rounds of background loops.' });

/** Failures in a row that are not logged where another service is unavailable: what starts or restarts is back before, within 13 s. */
const quietFailures = 6;

/** Pace of a loop. */
interface Pace {
  everyMs: number | (() => number);
  slowestRetryMs: number;
  gatherMs?: number;
  log: Logger;
}

/**
 * Runs `work` over and over, never twice at once: when it is woken, and `everyMs` after the last round at the latest. A round
 * that returns true, or that something woke meanwhile, is followed by the next at once. One that fails is logged (if another service is unavailable, from
 * the seventh in a row) and comes again later each time, up to `slowestRetryMs`; a wake does not hurry it. With `gatherMs` a round begins so long after
 * the last one at the earliest: what is woken for many times in a row is done in one, and what comes alone at once. `everyMs` may be a function, which is asked after each round;
 * an infinite time is that of a wake.
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
    await Promise.resolve(); // whoever makes the loop has it before the first round
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
        const mayPass = error instanceof ApiError && error.status === 503 && failures <= quietFailures;
        if (!mayPass && (!isLogged || failures % 30 === 0)) {
          isLogged = true;
          this.#log.error({ err: error, failures }, 'a round of work failed; it is tried again');
        }
      }
      const endedMs = performance.now();
      if (failures > 0) {
        const retryMs = backoffMs({ firstMs: 200, longestMs: slowestRetryMs }, failures);
        await this.#pause(retryMs, () => this.#isStopping);
      } else if (!hasMore) {
        await this.#pause(typeof everyMs === 'number' ? everyMs : everyMs(), () => this.#isWoken || this.#isStopping);
        const restMs = endedMs + gatherMs - performance.now();
        if (restMs > 0 && this.#isWoken) await this.#pause(restMs, () => this.#isStopping);
      }
    }
  }

  /** Waits until the time is over, or until a wake finds `isOver`. */
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
