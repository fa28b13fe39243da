import type { IncomingMessage } from 'node:http';

/** How fast a body has to come. */
export interface Pace {
  /** Each window of so many milliseconds has to bring `bytesPerSecond` on average, or the body's end. */
  windowMs: number;
  bytesPerSecond: number;
}

interface Watched {
  request: IncomingMessage;
  /** When the whole body has to be there, on the monotonic clock. */
  deadlineMs: number;
  windowBeganMs: number;
  windowBeganBytes: number;
  late(): void;
}

/**
 * Watches how fast bodies come, all with one timer. Time in which this process does not read is not the client's; what came
 * while the process was busy counts as in time.
 */
export class BodyPace {
  readonly #pace: Pace;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /**
   * Calls `late` once where a body falls behind, or is not there after `wholeWithinMs`; returns how to stop watching, which
   * must be called.
   */
  watch(request: IncomingMessage, late: () => void, wholeWithinMs = Number.POSITIVE_INFINITY): () => void {
    const nowMs = performance.now();
    const watched: Watched = {
      request,
      deadlineMs: nowMs + wholeWithinMs,
      windowBeganMs: nowMs,
      windowBeganBytes: request.socket.bytesRead,
      late,
    };
    this.#watched.add(watched);
    this.#schedule();
    return () => this.#watched.delete(watched);
  }

  /** Watches nothing any more. */
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
    const bytes = request.socket.bytesRead;
    if (request.isPaused()) {
      watched.windowBeganMs = nowMs;
      watched.windowBeganBytes = bytes;
      return false;
    }
    const lengthMs = nowMs - watched.windowBeganMs;
    if (lengthMs < this.#pace.windowMs) return false;
    const isSlow = bytes - watched.windowBeganBytes < (this.#pace.bytesPerSecond * lengthMs) / 1_000;
    watched.windowBeganMs = nowMs;
    watched.windowBeganBytes = bytes;
    return isSlow;
  }
}
