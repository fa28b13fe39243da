import { dayMs, firstInstantOf, localAt } from '@customer-platform/service-kit';

const nightMs = 2 * 3_600_000;

/** Returns the next 02:00 of a zone after `now`. If the clock skips 02:00, the instant of the change counts; if it shows 02:00 twice, the first. */
export function nextNight(now: Date, zone: string): Date {
  const nowMs = now.getTime();
  const today = Math.floor(localAt(nowMs, zone) / dayMs) * dayMs;
  for (let local = today + nightMs; ; local += dayMs) {
    const instantMs = firstInstantOf(local, zone);
    if (instantMs > nowMs) return new Date(instantMs);
  }
}
