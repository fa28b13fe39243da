/** Wait before the next attempt: `firstMs` after the first attempt, then doubled each time, up to `longestMs`. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
}

/** Returns how many milliseconds to wait after a number of attempts. */
export function backoffMs({ firstMs, longestMs }: Backoff, attempts: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, attempts - 1), longestMs);
}
