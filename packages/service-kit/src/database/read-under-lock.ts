/**
 * Returns what `read` does, as it is under the lock that `lock` takes: both are sent in one round trip, in this order, and run one after
 * the other.
 */
export async function readUnderLock<Result>(
  lock: { execute(): Promise<unknown> },
  read: () => Promise<Result>,
): Promise<Result> {
  // Sent at once: a statement that is only made waits until it is awaited, and the read would overtake it.
  const [, result] = await Promise.all([lock.execute(), read()]);
  return result;
}
