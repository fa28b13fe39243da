import type { Logger } from '@customer-platform/service-kit';

/**
 * Runs `work` over and over, never twice at once: when it is woken, and after `everyMs` at the latest. A wake during a
 * round leads to another one. A round that fails is logged and comes again after a pause of at least 100 ms.
 */
export class WakeLoop {
  readonly #work: () => Promise<void>;
  readonly #everyMs: number;
  readonly #log: Logger;
  readonly #loop: Promise<void>;
  #wakeUp: (() => void) | undefined;
  #isWoken = false;
  #isStopping = false;

  constructor(name: string, everyMs: number, log: Logger, work: () => Promise<void>) {
    this.#work = work;
    this.#everyMs = everyMs;
    this.#log = log.child({ loop: name });
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
    let failures = 0;
    await Promise.resolve();
    while (!this.#isStopping) {
      this.#isWoken = false;
      try {
        await this.#work();
        failures = 0;
      } catch (error) {
        failures++;
        if (failures === 1 || failures % 30 === 0) {
          this.#log.error({ err: error, failures }, 'a round of the dispatcher failed; it is tried again');
        }
      }
      if (failures > 0) await this.#pause(Math.min(100 * 2 ** failures, 2000), () => this.#isStopping);
      else await this.#pause(this.#everyMs, () => this.#isWoken || this.#isStopping);
    }
  }

  #pause(ms: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#wakeUp = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#wakeUp = () => {
        if (isOver()) end();
      };
    });
  }
}
