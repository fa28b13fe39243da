/** Wait before the next attempt: `firstMs` after the first, twice as long each time, up to `longestMs`. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
}

/** Returns how many ms to wait after so many attempts. */
export function backoffMs({ firstMs, longestMs }: Backoff, attempts: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, attempts - 1), longestMs);
}
