/**
 * Polls `condition` until it returns a truthy value, and returns that value. After `timeoutMs` (default 30 s, which tolerates a machine that stalls),
 * throws an error with `what` and the last error of `condition` as its cause.
 */
export async function waitFor<Result>(
  what: string,
  condition: () => Promise<Result> | Result,
  timeoutMs = 30_000,
): Promise<Exclude<NonNullable<Result>, false>> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    try {
      const result = await condition();
      if (result) return result as Exclude<NonNullable<Result>, false>;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
