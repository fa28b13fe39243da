/** A service that restarts is tried this often. */
const everyMs = 100;

/**
 * A service that takes no connections. Requests wait for it for `holdMs` from the first one that it refused: a service that restarts is
 * back by then, and one that is gone makes nobody wait longer.
 */
export class Outage {
  readonly #holdMs: number;
  readonly #isBack: (limitMs: number) => Promise<unknown>;
  readonly #began: () => void;
  readonly #waiting = new Set<(isBack: boolean) => void>();
  #sinceMs: number | undefined;
  #isTrying = false;

  /** `isBack` tries the service, and throws where it takes no connection; `began` is called for the first request that waits. */
  constructor(holdMs: number, isBack: (limitMs: number) => Promise<unknown>, began: () => void) {
    this.#holdMs = holdMs;
    this.#isBack = isBack;
    this.#began = began;
  }

  /** Waits for the service, which has just refused a connection; returns whether it is back. */
  wait(): Promise<boolean> {
    this.#sinceMs ??= performance.now();
    if (this.#leftMs() <= 0) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.add(resolve);
    if (this.#waiting.size === 1) this.#began();
    if (!this.#isTrying) void this.#try();
    return promise;
  }

  /** Ends it: the service has responded. */
  end(): void {
    if (this.#sinceMs === undefined) return;
    this.#sinceMs = undefined;
    this.#release(true);
  }

  async #try(): Promise<void> {
    this.#isTrying = true;
    while (this.#waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(everyMs, Math.max(0, this.#leftMs()))));
      const leftMs = this.#leftMs();
      if (leftMs <= 0) this.#release(false);
      else if (await this.#responds(Math.ceil(leftMs))) this.end();
    }
    this.#isTrying = false;
  }

  async #responds(limitMs: number): Promise<boolean> {
    try {
      await this.#isBack(limitMs);
      return true;
    } catch {
      return false;
    }
  }

  #leftMs(): number {
    return this.#sinceMs === undefined ? this.#holdMs : this.#sinceMs + this.#holdMs - performance.now();
  }

  #release(isBack: boolean): void {
    for (const resolve of this.#waiting) resolve(isBack);
    this.#waiting.clear();
  }
}
