import type { BlockedReason, BookingType } from '@customer-platform/contracts/calendar';
import { dayMs } from '@customer-platform/service-kit';
import {
  type Hours,
  instantOfExistingMinute,
  type LocalDay,
  localDays,
  minuteMs,
  openRanges,
  type TimeRange,
} from './local-day.ts';

/** The parts of a booking type that determine its possible starts, in the units of their names. */
export type BookableType = Pick<
  BookingType,
  'duration_minutes' | 'prep_minutes' | 'slot_interval_minutes' | 'min_notice_minutes' | 'window_days'
>;

/** A teammate who may be booked. `taken` holds [blocked_from, ends_at) of booked appointments, `timeOff` absences. */
export type Candidate<Id> = Hours & {
  id: Id;
  active: boolean;
  taken: readonly TimeRange[];
  timeOff: readonly TimeRange[];
};

export type FreeStart<Id> = { startsAt: number; endsAt: number; staff: Id[] };

type Rules = { bookingType: BookableType; zone: string; now: number };
type Start = Rules & { startsAt: number };
type Search<Id> = Rules & { staff: readonly Candidate<Id>[]; from: number; to: number; limit: number };

/**
 * Returns at most `limit` free starts in [from, to), ascending, each with its available teammates in the order of `staff`. Times are epoch
 * milliseconds. A start is free exactly if `refusalsOf` returns no reasons for some teammate: both use the same availability.
 */
export function freeStarts<Id>(search: Search<Id>): FreeStart<Id>[] {
  return [...freeStartPieces(search)].flat();
}

/** Yields the free starts in pieces of about a millisecond: an empty one per teammate, then one per day. */
export function* freeStartPieces<Id>(search: Search<Id>): Generator<FreeStart<Id>[]> {
  const { bookingType, zone, staff, limit } = search;
  const { earliest, latest } = bookableWindow(search);
  const from = Math.max(search.from, earliest);
  const to = Math.min(search.to, latest + 1);
  if (from >= to) return;
  const durationMs = bookingType.duration_minutes * minuteMs;
  const days = localDays(zone, from, to + durationMs);
  const availabilities: { id: Id; availability: Availability }[] = [];
  for (const candidate of staff.filter(({ active }) => active)) {
    availabilities.push({ id: candidate.id, availability: availabilityOf(candidate, bookingType, days) });
    yield [];
  }
  let left = limit;
  for (const day of days) {
    const found: FreeStart<Id>[] = [];
    for (const startsAt of gridStarts([day], bookingType.slot_interval_minutes, from, to)) {
      const free = availabilities.filter(({ availability }) => isFree(availability, startsAt));
      if (free.length > 0) found.push({ startsAt, endsAt: startsAt + durationMs, staff: free.map(({ id }) => id) });
      if (found.length === left) break;
    }
    yield found;
    left -= found.length;
    if (left === 0) return;
  }
}

/** Returns all reasons why this teammate cannot take this start (epoch ms), in a fixed order; empty if free. */
export function refusalsOf<Id>({ candidate, ...start }: Start & { candidate: Candidate<Id> }): BlockedReason[] {
  return refusalsAt(start)(candidate);
}

/** Returns `refusalsOf` as a function of the teammate, with everything else calculated once. */
export function refusalsAt(start: Start): <Id>(candidate: Candidate<Id>) => BlockedReason[] {
  const { bookingType, zone, startsAt } = start;
  const { earliest, latest } = bookableWindow(start);
  const days = localDays(zone, startsAt, startsAt + bookingType.duration_minutes * minuteMs);
  const isOnGrid = gridStarts(days, bookingType.slot_interval_minutes, startsAt, startsAt + 1).includes(startsAt);
  return (candidate) => {
    const availability = availabilityOf(candidate, bookingType, days);
    const reasons: Record<BlockedReason, boolean> = {
      inactive: !candidate.active,
      off_grid: !isOnGrid,
      too_soon: startsAt < earliest,
      too_far: startsAt > latest,
      outside_hours: !isWithin(availability.open, startsAt),
      time_off: isWithin(availability.timeOff, startsAt),
      taken: isWithin(availability.taken, startsAt),
    };
    return (Object.keys(reasons) as BlockedReason[]).filter((reason) => reasons[reason]);
  };
}

/** Returns, ascending, the instants in [from, to) whose local time exists and is a multiple of the interval since midnight. */
function gridStarts(days: readonly LocalDay[], intervalMinutes: number, from: number, to: number): number[] {
  const starts: number[] = [];
  for (const day of days) {
    for (let minute = 0; minute < 1_440; minute += intervalMinutes) {
      const instant = instantOfExistingMinute(day, minute);
      if (instant !== null && instant >= from && instant < to) starts.push(instant);
    }
  }
  return starts;
}

function bookableWindow({ bookingType, now }: Rules): { earliest: number; latest: number } {
  return {
    earliest: now + bookingType.min_notice_minutes * minuteMs,
    latest: now + bookingType.window_days * dayMs,
  };
}

/** A teammate's starts: in `open` the appointment fits the hours; in `timeOff` and `taken` it would overlap one, preparation included. */
type Availability = { open: RangeCursor; timeOff: RangeCursor; taken: RangeCursor };

/** Cursor over ranges sorted by start. `next` is the first range after the last checked instant; `latestEnd` is the latest end of the ranges before `next`. */
type RangeCursor = { ranges: TimeRange[]; next: number; latestEnd: number };

function availabilityOf<Id>(
  candidate: Candidate<Id>,
  bookingType: BookableType,
  days: readonly LocalDay[],
): Availability {
  const durationMs = bookingType.duration_minutes * minuteMs;
  const prepMs = bookingType.prep_minutes * minuteMs;
  // Shorter ranges contain no start, and a teammate may have dozens of them per day.
  const open = openRanges(candidate, days).filter(({ startsAt, endsAt }) => endsAt - startsAt >= durationMs);
  // [start − prep, start + duration) overlaps [a, b) exactly if start is in (a − duration, b + prep).
  const blocking = (range: TimeRange) => ({ startsAt: range.startsAt - durationMs + 1, endsAt: range.endsAt + prepMs });
  return {
    open: cursorOf(open.map((range) => ({ startsAt: range.startsAt, endsAt: range.endsAt - durationMs + 1 }))),
    timeOff: cursorOf(candidate.timeOff.map(blocking)),
    taken: cursorOf(candidate.taken.map(blocking)),
  };
}

function cursorOf(ranges: TimeRange[]): RangeCursor {
  ranges.sort((a, b) => a.startsAt - b.startsAt);
  return { ranges, next: 0, latestEnd: -Infinity };
}

/** Returns whether a range contains the instant. Instants must ascend from call to call, so each range is visited once. */
function isWithin(cursor: RangeCursor, instant: number): boolean {
  for (let range = cursor.ranges[cursor.next]; range && range.startsAt <= instant; range = cursor.ranges[cursor.next]) {
    cursor.latestEnd = Math.max(cursor.latestEnd, range.endsAt);
    cursor.next += 1;
  }
  return instant < cursor.latestEnd;
}

function isFree({ open, timeOff, taken }: Availability, startsAt: number): boolean {
  return isWithin(open, startsAt) && !isWithin(timeOff, startsAt) && !isWithin(taken, startsAt);
}
