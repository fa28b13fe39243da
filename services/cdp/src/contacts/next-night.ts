import { zoneOffsetMs } from '@customer-platform/service-kit';

const dayMs = 86_400_000;
const nightMs = 2 * 3_600_000;

/**
 * The next 02:00 of a zone, later than `now`. A 02:00 that the clock skips is the moment of the change; of one that it shows
 * twice the first counts.
 */
export function nextNight(now: Date, zone: string): Date {
  const nowMs = now.getTime();
  const today = Math.floor((nowMs + zoneOffsetMs(zone, nowMs)) / dayMs) * dayMs;
  for (let local = today + nightMs; ; local += dayMs) {
    const instantMs = firstInstantOf(local, zone);
    if (instantMs > nowMs) return new Date(instantMs);
  }
}

/** The first instant at which the zone's clock shows a local time, or has passed it; it changes once in two days at most. */
function firstInstantOf(local: number, zone: string): number {
  const [before, after] = [zoneOffsetMs(zone, local - dayMs), zoneOffsetMs(zone, local + dayMs)];
  const candidates = [local - before, local - after].sort((one, other) => one - other);
  const shown = candidates.find((instantMs) => instantMs + zoneOffsetMs(zone, instantMs) === local);
  return shown ?? local - before;
}
