/**
 * Returns a function that runs `work` for all callers, one run at a time. Calls during a run share the next run, so that each gets a result from
 * after its call. Many calls at once cost at most two runs. A call rejects as its run does.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () => {
    next ??= running
      .catch(() => undefined)
      .then(() => {
        running = next!;
        next = undefined;
        return work();
      });
    return next;
  };
}

/**
 * Returns a function that runs `work` once for concurrent calls with the same key, the first argument. These calls share its result or error, and
 * continue in the order in which they were made.
 */
export function coalesceByKey<Arguments extends [key: string, ...others: unknown[]], Result>(
  work: (...given: Arguments) => Promise<Result>,
): (...given: Arguments) => Promise<Result> {
  const running = new Map<string, Promise<Result>>();
  return (...given) => {
    const [key] = given;
    const under = running.get(key);
    if (under !== undefined) return under;
    const result = work(...given).finally(() => running.delete(key));
    running.set(key, result);
    return result;
  };
}
