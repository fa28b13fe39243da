import { dayMs } from '@customer-platform/service-kit';

/** Days for which a merge can be undone. */
export const undoableDays = 30;

/** Returns whether a merge is too old to be undone: at least 30 days. */
export function isTooOld(mergedAt: Date, now: Date): boolean {
  return now.getTime() - mergedAt.getTime() >= undoableDays * dayMs;
}

/** Returns the instant before which merge records are deleted. They are kept for one extra day, so that the error can state their age. */
export function recordedSince(now: Date): Date {
  return new Date(now.getTime() - (undoableDays + 1) * dayMs);
}
