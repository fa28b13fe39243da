/** Longest wait between two attempts in milliseconds: a request that should wait longer fails, for its caller to decide. */
export const longestWaitMs = 60_000;

/** Longest time in milliseconds that a timer takes: it ends at once where it is given more. */
export const longestTimerMs = 2 ** 31 - 1;

const firstBackoffMs = 250;

/**
 * Returns milliseconds to wait before another attempt, the first of which is 1: random up to 250, 500, 1,000 … and at most `longestMs`,
 * so that clients which failed together do not come back together.
 */
export function backoffMs(attempt: number, longestMs: number): number {
  return Math.random() * Math.min(longestMs, firstBackoffMs * 2 ** Math.min(attempt - 1, 30));
}

/** Returns the seconds that a Retry-After header asks for, in seconds or as an HTTP date; undefined if there is none or it is neither. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  // Date.parse takes much else for a date, such as -1.
  const until = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  // Counted by the clock of the one who wrote the date, which need not be ours.
  const sent = Date.parse(headers.get('date') ?? '');
  return Math.max(0, (until - (Number.isNaN(sent) ? Date.now() : sent)) / 1000);
}

/** Resolves after a time; rejects with the signal's reason as soon as that aborts. */
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
