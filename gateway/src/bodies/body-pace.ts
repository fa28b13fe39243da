import type { IncomingMessage } from 'node:http';

/** Minimum rate of a body. */
export interface Pace {
  /** Each window of this length must bring `bytesPerSecond` on average, or the end of the body. */
  windowMs: number;
  bytesPerSecond: number;
}

interface Watched {
  request: IncomingMessage;
  received(): number;
  /** Deadline of the whole body, on the monotonic clock. */
  deadlineMs: number;
  windowBeganMs: number;
  windowBeganBytes: number;
  late(): void;
}

/**
 * Watches the rate of bodies with one timer. Time in which this process does not read is not held against the client;
 * bytes that arrive while the process is busy count as in time.
 */
export class BodyPace {
  readonly #pace: Pace;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /**
   * Calls `late` once if a body falls behind or is not complete after `wholeWithinMs`. `received` returns the bytes of it that were read: those of
   * the connection would count the sizes of chunks too, which may be written with any number of zeros. Returns a function that stops watching, which
   * must be called.
   */
  watch(
    request: IncomingMessage,
    received: () => number,
    late: () => void,
    wholeWithinMs = Number.POSITIVE_INFINITY,
  ): () => void {
    const nowMs = performance.now();
    const watched: Watched = {
      request,
      received,
      deadlineMs: nowMs + wholeWithinMs,
      windowBeganMs: nowMs,
      windowBeganBytes: received(),
      late,
    };
    this.#watched.add(watched);
    this.#schedule();
    return () => this.#watched.delete(watched);
  }

  /** Stops watching all bodies. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#watched.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), Math.min(this.#pace.windowMs / 4, 1_000));
  }

  #look(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const watched of this.#watched) {
      if (!this.#isLate(watched, nowMs)) continue;
      this.#watched.delete(watched);
      watched.late();
    }
    if (this.#watched.size > 0) this.#schedule();
  }

  #isLate(watched: Watched, nowMs: number): boolean {
    const { request, deadlineMs } = watched;
    if (nowMs >= deadlineMs) return true;
    const bytes = watched.received();
    const lengthMs = nowMs - watched.windowBeganMs;
    const isPaused = request.isPaused();
    if (!isPaused && lengthMs < this.#pace.windowMs) return false;
    const isSlow = !isPaused && bytes - watched.windowBeganBytes < (this.#pace.bytesPerSecond * lengthMs) / 1_000;
    watched.windowBeganMs = nowMs;
    watched.windowBeganBytes = bytes;
    return isSlow;
  }
}
