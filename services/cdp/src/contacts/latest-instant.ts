/** How far another clock may be ahead of the platform's. */
const aheadMs = 5 * 60_000;

/** Returns whether something can have happened at `at`, which may be at most 5 minutes after `now`. */
export function canHaveHappened(at: Date, now: Date): boolean {
  return at.getTime() <= now.getTime() + aheadMs;
}
