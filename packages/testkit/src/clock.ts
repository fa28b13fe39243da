/** The time that services under test take: real time, moved by what a test adds. */
export class MovableClock {
  #offsetMs = 0;

  readonly now = (): Date => new Date(Date.now() + this.#offsetMs);

  /** Moves the time on by this many milliseconds. */
  advance(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Makes it this instant now; time goes on from there. */
  set(instant: Date | string): void {
    this.#offsetMs = new Date(instant).getTime() - Date.now();
  }
}
