import { instantOfMinute, type LocalDay, type Weekday } from './local-day.ts';

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
