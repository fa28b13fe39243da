const lookEveryMs = 20;

/** Work that did not end in time. */
export class TimedOut extends Error {
  constructor(limitMs: number) {
    super(`no result within ${limitMs} ms`);
  }
}

/**
 * Returns what `work` resolves to. Once `limitMs` have passed, throws what `late` makes; the work itself goes on and its outcome is
 * dropped. Leaves no timer. An outcome that arrived while this process was busy with something else counts as in time.
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
 * Calls `late` once `limitMs` have passed, unless the function that it returns was called before. What has arrived by then, while this
 * process was busy with something else, is dealt with first.
 */
export function whenLate(limitMs: number, late: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => setImmediate(() => isOver || late()), limitMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Does `work`; throws the signal's reason as soon as that is aborted. Leaves no listener, and nothing of `work` unhandled. */
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

/** Waits until `isDone`, for at most `limitMs`: asks every 20 ms. */
export async function waitUntil(isDone: () => boolean, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!isDone() && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
}
