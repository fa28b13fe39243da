import { dayMs, firstInstantOf, localAt, offsetStretches } from '@customer-platform/service-kit';

export const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof weekdays)[number];

/** A date in a zone. `midnight` is its 00:00 as local time; `steadyOffset` is null on a day with a clock change. */
export type LocalDay = { zone: string; date: string; weekday: Weekday; midnight: number; steadyOffset: number | null };

export const minuteMs = 60_000;

/**
 * Returns the dates of a zone from the day before `from` to the day after `to` (epoch ms), ascending. The extra days cover zones that turn clocks
 * back over midnight, where an instant belongs to the hours of the adjacent day.
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

/** Like `instantOfMinute`, but returns null if the clock never shows that minute. */
export function instantOfExistingMinute(day: LocalDay, minute: number): number | null {
  const local = day.midnight + minute * minuteMs;
  if (day.steadyOffset !== null) return local - day.steadyOffset;
  const instant = firstInstantOf(local, day.zone);
  return localAt(instant, day.zone) === local ? instant : null;
}

/** Returns the offset of a day without a clock change, which allows conversion by addition; otherwise null. */
function steadyOffset(zone: string, midnight: number): number | null {
  const first = firstInstantOf(midnight, zone);
  const next = firstInstantOf(midnight + dayMs, zone);
  const stretch = offsetStretches(midnight, zone).find(({ endsAt }) => first < endsAt)!;
  const exact = first + stretch.offset === midnight && next - first === dayMs;
  return exact && next <= stretch.endsAt ? stretch.offset : null;
}

/** Half-open, in epoch milliseconds. */
export type TimeRange = { startsAt: number; endsAt: number };

/** A range such as ["09:00", "12:00"]; its end may be "24:00". */
export type LocalRange = readonly [string, string];

/** A teammate's weekly hours, and dates (YYYY-MM-DD) with other hours. An empty list means closed. */
export type Hours = {
  hours: Partial<Record<Weekday, readonly LocalRange[]>>;
  overrides: Record<string, readonly LocalRange[]>;
};

/**
 * Returns a teammate's opening hours on the given days, as ascending ranges that do not overlap or touch. Ranges that meet at midnight or at a clock
 * change are merged, so an appointment may span both.
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

/** Converts "HH:MM" to minutes from midnight, 0–1440. */
function minuteOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/** Merges ranges that overlap or touch. Modifies the ranges. */
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
