/**
 * Polls `condition` until it returns something truthy, and returns that.
 * Throws after `timeoutMs` (default 30 s: a bound for what fails, long enough for a machine that stalls) with `what` was waited for and the last error, if any.
 */
export async function waitFor<Result>(
  what: string,
  condition: () => Promise<Result> | Result,
  timeoutMs = 30_000,
): Promise<Exclude<NonNullable<Result>, false>> {
  const deadline = performance.now() + timeoutMs;
  let failure: unknown;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    try {
      const result = await condition();
      if (result) return result as Exclude<NonNullable<Result>, false>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
