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
