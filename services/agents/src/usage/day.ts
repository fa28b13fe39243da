import { formatInstant, zoneOffsetMs } from '@customer-platform/service-kit';

const dayMs = 86_400_000;

/** The date, such as 2026-11-20, that it is in the zone at an instant: the day whose budgets tokens count against. */
export function dayOf(instant: Date, zone: string): string {
  return formatInstant(instant, zone).slice(0, 10);
}

/** The date so many days before another one. */
export function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);
}

/** The first instant of a date in the zone, also where its midnight does not exist or happens twice. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const candidates = [midnight - dayMs, midnight + dayMs].map((near) => midnight - zoneOffsetMs(zone, near));
  const onTheDay = candidates.filter((candidate) => dayOf(new Date(candidate), zone) === day);
  return new Date(Math.min(...(onTheDay.length > 0 ? onTheDay : candidates)));
}
