import { dayMs, firstInstantOf, localAt } from '@customer-platform/service-kit';

const nightMs = 2 * 3_600_000;

/**
 * Returns the next 02:00 of a zone, later than `now`. A 02:00 that the clock skips is the instant of the change; of one
 * that it shows twice the first counts.
 */
export function nextNight(now: Date, zone: string): Date {
  const nowMs = now.getTime();
  const today = Math.floor(localAt(nowMs, zone) / dayMs) * dayMs;
  for (let local = today + nightMs; ; local += dayMs) {
    const instantMs = firstInstantOf(local, zone);
    if (instantMs > nowMs) return new Date(instantMs);
  }
}
