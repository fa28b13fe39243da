/**
 * Returns a function that runs `work` for everybody who calls it, one run at a time: those who call during a run share the next one, so
 * that each gets what was so after its call, and many calls cost no more than two runs. It rejects as its run does.
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
 * Returns a function that runs `work` once for all who call it with one key, its first argument, while that is under way: they share its result,
 * or its error, and go on in the order in which they called.
 */
export function onceAtATime<Arguments extends [key: string, ...others: unknown[]], Result>(
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
