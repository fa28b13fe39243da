import { dayMs, firstInstantOf, localAt, offsetStretches } from '@customer-platform/service-kit';

export const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof weekdays)[number];

/** One date of a zone's calendar; `midnight` is its 00:00 as a local time, `steadyOffset` is null on a day with a change. */
export type LocalDay = { zone: string; date: string; weekday: Weekday; midnight: number; steadyOffset: number | null };

export const minuteMs = 60_000;

/**
 * Returns the dates of a zone from a day before `from` to a day after `to` (instants, epoch ms), ascending. The extra
 * day on either side covers zones that turn their clocks back over midnight, where an instant belongs to the hours of
 * the adjacent day.
 */
export function localDays(zone: string, from: number, to: number): LocalDay[] {
  const first = Math.floor(localAt(from, zone) / dayMs) - 1;
  const last = Math.floor(localAt(to, zone) / dayMs) + 1;
  const days: LocalDay[] = [];
  for (let day = first; day <= last; day += 1) {
    const midnight = day * dayMs;
    const date = new Date(midnight);
    days.push({
      zone,
      date: date.toISOString().slice(0, 10),
      weekday: weekdays[date.getUTCDay()]!,
      midnight,
      steadyOffset: steadyOffset(zone, midnight),
    });
  }
  return days;
}

/** Returns the first instant at which the day's clock has reached `minute` (0–1440), as epoch milliseconds. */
export function instantOfMinute(day: LocalDay, minute: number): number {
  const local = day.midnight + minute * minuteMs;
  return day.steadyOffset === null ? firstInstantOf(local, day.zone) : local - day.steadyOffset;
}

/** Returns the same, or null if the clock never shows that minute. */
export function instantOfExistingMinute(day: LocalDay, minute: number): number | null {
  const local = day.midnight + minute * minuteMs;
  if (day.steadyOffset !== null) return local - day.steadyOffset;
  const instant = firstInstantOf(local, day.zone);
  return localAt(instant, day.zone) === local ? instant : null;
}

/**
 * Returns the offset that holds from a day's first to its last instant, so that its times need addition alone; else
 * null.
 */
function steadyOffset(zone: string, midnight: number): number | null {
  const first = firstInstantOf(midnight, zone);
  const next = firstInstantOf(midnight + dayMs, zone);
  const stretch = offsetStretches(midnight, zone).find(({ endsAt }) => first < endsAt)!;
  const exact = first + stretch.offset === midnight && next - first === dayMs;
  return exact && next <= stretch.endsAt ? stretch.offset : null;
}
