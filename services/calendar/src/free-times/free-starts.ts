import { dayMs } from '@customer-platform/service-kit';
import { instantOfExistingMinute, type LocalDay, localDays, minuteMs } from './local-day.ts';
import { type Hours, openRanges, type TimeRange } from './open-hours.ts';

/** The parts of a booking type that decide when it can start; units as the names say. */
export type BookableType = {
  duration_minutes: number;
  prep_minutes: number;
  slot_interval_minutes: number;
  min_notice_minutes: number;
  window_days: number;
};

/** A teammate who may be booked. `taken` holds [blocked_from, ends_at) of what they have booked, `timeOff` their absences. */
export type Candidate<Id> = Hours & {
  id: Id;
  active: boolean;
  taken: readonly TimeRange[];
  timeOff: readonly TimeRange[];
};

/** Why a teammate cannot take a start, in the order in which reasons are given. */
export const refusals = ['inactive', 'off_grid', 'too_soon', 'too_far', 'outside_hours', 'time_off', 'taken'] as const;
export type Refusal = (typeof refusals)[number];

export type FreeStart<Id> = { startsAt: number; endsAt: number; staff: Id[] };

type Rules = { bookingType: BookableType; zone: string; now: number };

/**
 * The free starts in [from, to), ascending, at most `limit`; each with the teammates who can take it in the order of
 * `staff`. Instants are epoch milliseconds. Exactly the starts for which `refusalsOf` finds a teammate without refusal:
 * both ask the same sight of the same teammate.
 */
export function freeStarts<Id>(
  search: Rules & { staff: readonly Candidate<Id>[]; from: number; to: number; limit: number },
): FreeStart<Id>[] {
  const { bookingType, zone, staff, limit } = search;
  const { earliest, latest } = bookableWindow(search);
  const from = Math.max(search.from, earliest);
  const to = Math.min(search.to, latest + 1);
  if (from >= to) return [];
  const durationMs = bookingType.duration_minutes * minuteMs;
  const days = localDays(zone, from, to + durationMs);
  const active = staff.filter((candidate) => candidate.active);
  const sights = active.map((candidate) => ({ id: candidate.id, sight: sightOf(candidate, bookingType, days) }));
  const found: FreeStart<Id>[] = [];
  for (const startsAt of gridStarts(days, bookingType.slot_interval_minutes, from, to)) {
    const free = sights.filter(({ sight }) => isFree(sight, startsAt));
    if (free.length > 0) found.push({ startsAt, endsAt: startsAt + durationMs, staff: free.map(({ id }) => id) });
    if (found.length === limit) break;
  }
  return found;
}

/** Why this teammate cannot take this start (epoch milliseconds), all reasons; empty when it is free. */
export function refusalsOf<Id>(start: Rules & { candidate: Candidate<Id>; startsAt: number }): Refusal[] {
  const { bookingType, zone, candidate, startsAt } = start;
  const { earliest, latest } = bookableWindow(start);
  const days = localDays(zone, startsAt, startsAt + bookingType.duration_minutes * minuteMs);
  const sight = sightOf(candidate, bookingType, days);
  const reasons: Record<Refusal, boolean> = {
    inactive: !candidate.active,
    off_grid: !gridStarts(days, bookingType.slot_interval_minutes, startsAt, startsAt + 1).includes(startsAt),
    too_soon: startsAt < earliest,
    too_far: startsAt > latest,
    outside_hours: !isWithin(sight.open, startsAt),
    time_off: isWithin(sight.timeOff, startsAt),
    taken: isWithin(sight.taken, startsAt),
  };
  return refusals.filter((reason) => reasons[reason]);
}

/** The instants in [from, to) whose local time exists and is a multiple of the interval from midnight, ascending. */
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

/** A teammate seen as starts: those from which an appointment ends within an open range, and those that meet something. */
type Sight = { open: Sweep; timeOff: Sweep; taken: Sweep };

/** Ranges by their start, `next` the first not yet begun at the last start asked for, `reach` the latest end among the rest. */
type Sweep = { ranges: TimeRange[]; next: number; reach: number };

function sightOf<Id>(candidate: Candidate<Id>, bookingType: BookableType, days: readonly LocalDay[]): Sight {
  const durationMs = bookingType.duration_minutes * minuteMs;
  const prepMs = bookingType.prep_minutes * minuteMs;
  const open = openRanges(candidate, days);
  // [start − prep, start + duration) meets [a, b) exactly when start lies in (a − duration, b + prep).
  const meeting = (range: TimeRange) => ({ startsAt: range.startsAt - durationMs + 1, endsAt: range.endsAt + prepMs });
  return {
    open: sweep(open.map((range) => ({ startsAt: range.startsAt, endsAt: range.endsAt - durationMs + 1 }))),
    timeOff: sweep(candidate.timeOff.map(meeting)),
    taken: sweep(candidate.taken.map(meeting)),
  };
}

function sweep(ranges: TimeRange[]): Sweep {
  ranges.sort((a, b) => a.startsAt - b.startsAt);
  return { ranges, next: 0, reach: -Infinity };
}

/** Whether a range holds the instant. Instants must be asked for in ascending order: each range is looked at once. */
function isWithin(sweep: Sweep, instant: number): boolean {
  for (let range = sweep.ranges[sweep.next]; range && range.startsAt <= instant; range = sweep.ranges[sweep.next]) {
    sweep.reach = Math.max(sweep.reach, range.endsAt);
    sweep.next += 1;
  }
  return instant < sweep.reach;
}

function isFree({ open, timeOff, taken }: Sight, startsAt: number): boolean {
  return isWithin(open, startsAt) && !isWithin(timeOff, startsAt) && !isWithin(taken, startsAt);
}
