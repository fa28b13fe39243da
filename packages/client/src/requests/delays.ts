/** Longest wait between two attempts in milliseconds. A request that must wait longer fails, so the caller can decide. */
export const longestWaitMs = 60_000;

/** Longest delay in milliseconds that setTimeout supports. A timer with a longer delay fires at once. */
export const longestTimerMs = 2 ** 31 - 1;

const firstBackoffMs = 250;

/**
 * Returns the milliseconds to wait after an attempt, counted from 1. They are random, up to 250, 500, 1,000 … and at most `longestMs`.
 * The jitter keeps clients that failed together from retrying together.
 */
export function backoffMs(attempt: number, longestMs: number): number {
  return Math.random() * Math.min(longestMs, firstBackoffMs * 2 ** Math.min(attempt - 1, 30));
}

/** Returns the seconds of a Retry-After header, which has seconds or an HTTP date; undefined if it is missing or malformed. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  // Date.parse accepts other strings too, such as -1.
  const until = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  // The server's clock may differ from the local one, so measure from its Date header.
  const sent = Date.parse(headers.get('date') ?? '');
  return Math.max(0, (until - (Number.isNaN(sent) ? Date.now() : sent)) / 1000);
}

/** Resolves after a time. Rejects with the signal's reason as soon as the signal aborts. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
