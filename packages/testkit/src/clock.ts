/** Clock of services under test: real time plus an adjustable offset. */
export class MovableClock {
  #offsetMs = 0;

  readonly now = (): Date => new Date(Date.now() + this.#offsetMs);

  /** Moves the clock forward by this many milliseconds. */
  advance(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Sets the clock to this instant, from which it continues to run. */
  set(instant: Date | string): void {
    this.#offsetMs = new Date(instant).getTime() - Date.now();
  }
}
