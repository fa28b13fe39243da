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

/** Half-open, in epoch milliseconds. */
export type TimeRange = { startsAt: number; endsAt: number };

/** ["09:00", "12:00"]; "24:00" may end a range. */
export type LocalRange = readonly [string, string];

/** A teammate's weekly hours, and the dates (YYYY-MM-DD) on which other hours replace them; no ranges = closed. */
export type Hours = {
  hours: Partial<Record<Weekday, readonly LocalRange[]>>;
  overrides: Record<string, readonly LocalRange[]>;
};

/**
 * Returns the opening hours of a teammate on the given days, as ascending ranges that neither overlap nor touch: ranges
 * that meet at midnight or over a clock change are merged, so that an appointment may cross it.
 */
export function openRanges({ hours, overrides }: Hours, days: readonly LocalDay[]): TimeRange[] {
  const ranges: TimeRange[] = [];
  const weekdays = new Set(days.map(({ weekday }) => weekday));
  const weekly = new Map([...weekdays].map((weekday) => [weekday, minutesOf(hours[weekday] ?? [])]));
  for (const day of days) {
    const isOverridden = Object.hasOwn(overrides, day.date);
    const minutes = isOverridden ? minutesOf(overrides[day.date]!) : weekly.get(day.weekday)!;
    for (const [opens, closes] of minutes) {
      const startsAt = instantOfMinute(day, opens);
      const endsAt = instantOfMinute(day, closes);
      if (startsAt < endsAt) ranges.push({ startsAt, endsAt });
    }
  }
  return joined(ranges);
}

function minutesOf(ranges: readonly LocalRange[]): [opens: number, closes: number][] {
  return ranges.map(([opens, closes]) => [minuteOfDay(opens), minuteOfDay(closes)]);
}

/** Returns the minutes from midnight of "HH:MM", 0–1440. */
function minuteOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/** Merges ranges that overlap or touch; changes them. */
function joined(ranges: TimeRange[]): TimeRange[] {
  ranges.sort((a, b) => a.startsAt - b.startsAt);
  const result: TimeRange[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last && range.startsAt <= last.endsAt) last.endsAt = Math.max(last.endsAt, range.endsAt);
    else result.push(range);
  }
  return result;
}
