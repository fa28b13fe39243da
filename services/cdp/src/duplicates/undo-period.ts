import { dayMs } from '@customer-platform/service-kit';

/** Days for which a merge can be undone. */
export const undoableDays = 30;

/** Returns whether a merge can no longer be undone for its age: from 30 days on. */
export function isTooOld(mergedAt: Date, now: Date): boolean {
  return now.getTime() - mergedAt.getTime() >= undoableDays * dayMs;
}

/** Returns the instant before which merges were made that are recorded no longer: a day later, so that a refusal can name the age. */
export function recordedSince(now: Date): Date {
  return new Date(now.getTime() - (undoableDays + 1) * dayMs);
}
