/** How far ahead of the platform's clock another one may be: what happened later than that did not happen yet. */
const aheadMs = 5 * 60_000;

/** Whether something can have happened at `at`: at most 5 minutes ahead of `now`. */
export function canHaveHappened(at: Date, now: Date): boolean {
  return at.getTime() <= now.getTime() + aheadMs;
}
