const pollMs = 20;

/** The error of work that did not end in time. */
export class TimedOut extends Error {
  constructor(limitMs: number) {
    super(`no result within ${limitMs} ms`);
  }
}

/**
 * Returns what `work` resolves to. After `limitMs`, throws the error that `late` creates; the work continues and its outcome is dropped. Leaves no
 * timer. An outcome that arrived while this process was busy counts as in time.
 */
export async function withTimeout<Result>(
  limitMs: number,
  work: Promise<Result>,
  late = (): Error => new TimedOut(limitMs),
): Promise<Result> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const inTime = whenLate(limitMs, () => reject(late()));
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    inTime();
  }
}

/**
 * Calls `late` after `limitMs`, unless the returned function is called before. Events that arrived by then, while this process was busy, are
 * handled first.
 */
export function whenLate(limitMs: number, late: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => setImmediate(() => isOver || late()), limitMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Runs `work`, and throws the signal's reason as soon as the signal aborts. Leaves no listener and no unhandled rejection. */
export async function untilAborted<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal!.reason as Error);
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** Waits until `isDone` returns true, for at most `limitMs`; polls every 20 ms. */
export async function waitUntil(isDone: () => boolean, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!isDone() && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, pollMs));
}
