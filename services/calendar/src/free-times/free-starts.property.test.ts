import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { type BookableType, type Candidate, freeStarts, refusalsOf } from './free-starts.ts';
import { type LocalRange, weekdays } from './local-day.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Zones with the date, and the kind of clock change, around which starts are tested. */
const places: [zone: string, date: string][] = [
  ['UTC', '2026-06-15'],
  ['Asia/Kathmandu', '2026-06-15'],
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['America/Sao_Paulo', '2018-11-04'],
  ['America/Sao_Paulo', '2018-02-18'],
  ['Pacific/Apia', '2011-12-30'],
  ['Africa/Cairo', '2026-04-24'],
  ['Asia/Beirut', '2026-03-29'],
  ['America/St_Johns', '2010-11-07'],
];

/** Returns the local time of each minute of nine days around the date, which is all the oracle knows. */
const minutesAround = (zone: string, date: string) => {
  const from = Date.parse(`${date}T00:00Z`) - 4 * dayMs;
  const readings = Array.from({ length: 9 * 1_440 }, (_, index) =>
    Temporal.Instant.fromEpochMilliseconds(from + index * minuteMs)
      .toZonedDateTimeISO(zone)
      .toPlainDateTime()
      .toString(),
  );
  const firstOf = new Map<string, number>();
  for (const [index, reading] of readings.entries()) if (!firstOf.has(reading)) firstOf.set(reading, index);
  return { from, readings, firstOf };
};

type Minutes = ReturnType<typeof minutesAround>;

const openMinutes = ({ readings }: Minutes, candidate: Candidate<number>): boolean[] => {
  const open = readings.map(() => false);
  const reached = (date: string, time: string) => {
    const local =
      time === '24:00' ? `${Temporal.PlainDate.from(date).add({ days: 1 })}T00:00:00` : `${date}T${time}:00`;
    const index = readings.findIndex((reading) => reading >= local);
    return index < 0 ? readings.length : index;
  };
  const first = Temporal.PlainDate.from(readings[0]!.slice(0, 10));
  for (let day = 1; day < 9; day += 1) {
    const date = first.add({ days: day });
    const weekly = candidate.hours[weekdays[date.dayOfWeek % 7]!];
    for (const [opens, closes] of candidate.overrides[date.toString()] ?? weekly ?? [])
      open.fill(true, reached(date.toString(), opens), reached(date.toString(), closes));
  }
  return open;
};

/** Returns all refusals for each minute, by checking each minute of the appointment. */
const oracle = (minutes: Minutes, bookingType: BookableType, candidate: Candidate<number>, now: number) => {
  const open = openMinutes(minutes, candidate);
  const held = (ranges: Candidate<number>['taken']) =>
    minutes.readings.map((_, index) => {
      const instant = minutes.from + index * minuteMs;
      return ranges.some(({ startsAt, endsAt }) => startsAt <= instant && instant < endsAt);
    });
  const taken = held(candidate.taken);
  const timeOff = held(candidate.timeOff);
  return (index: number): string[] => {
    const startsAt = minutes.from + index * minuteMs;
    const end = index + bookingType.duration_minutes;
    const reading = minutes.readings[index]!;
    const minute = Number(reading.slice(11, 13)) * 60 + Number(reading.slice(14, 16));
    const onGrid = minute % bookingType.slot_interval_minutes === 0 && minutes.firstOf.get(reading) === index;
    const reasons: string[] = [];
    if (!candidate.active) reasons.push('inactive');
    if (!onGrid) reasons.push('off_grid');
    if (startsAt - now < bookingType.min_notice_minutes * minuteMs) reasons.push('too_soon');
    if (startsAt - now > bookingType.window_days * dayMs) reasons.push('too_far');
    if (open.slice(index, end).includes(false)) reasons.push('outside_hours');
    if (timeOff.slice(index - bookingType.prep_minutes, end).includes(true)) reasons.push('time_off');
    if (taken.slice(index - bookingType.prep_minutes, end).includes(true)) reasons.push('taken');
    return reasons;
  };
};

const clock = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

const localRange: fc.Arbitrary<LocalRange> = fc
  .tuple(fc.integer({ min: 0, max: 287 }), fc.integer({ min: 1, max: 288 }))
  .map(([from, length]) => [clock(from * 5), clock(Math.min(1_440, (from + length) * 5))]);
const localRanges = fc.array(localRange, { maxLength: 3 });
const bookingTypes = fc.record({
  duration_minutes: fc.constantFrom(5, 15, 30, 50, 60, 240, 1_440),
  prep_minutes: fc.constantFrom(0, 0, 10, 45, 480),
  slot_interval_minutes: fc.constantFrom(5, 15, 30, 45, 60, 90, 1_440),
  min_notice_minutes: fc.constantFrom(0, 60, 1_440),
  window_days: fc.constantFrom(1, 2, 60),
});

const candidates = (date: string): fc.Arbitrary<Candidate<number>> => {
  const start = Date.parse(`${date}T00:00Z`);
  const near = fc.tuple(fc.integer({ min: -2_880, max: 2_880 }), fc.integer({ min: 1, max: 600 }));
  const ranges = fc.array(near, { maxLength: 4 }).map((all) =>
    all.map(([minute, length]) => ({
      startsAt: start + minute * minuteMs,
      endsAt: start + (minute + length) * minuteMs,
    })),
  );
  const week = Object.fromEntries(weekdays.map((weekday) => [weekday, localRanges]));
  return fc.record({
    id: fc.nat(),
    active: fc.constantFrom(true, true, true, false),
    hours: fc.record(week, { requiredKeys: [] }),
    overrides: fc.oneof(
      fc.constant({}),
      localRanges.map((hours) => ({ [date]: hours })),
    ),
    taken: ranges,
    timeOff: fc.oneof(fc.constant([]), ranges),
  });
};

describe('free times compared with a check of every minute', () => {
  it.each(places)('a start is listed exactly if it has no refusals: %s around %s', (zone, date) => {
    const minutes = minutesAround(zone, date);
    const staff = fc.array(candidates(date), { minLength: 1, maxLength: 3 });
    const nowMs = fc.integer({ min: -2 * dayMs, max: dayMs });
    const check = (bookingType: BookableType, team: Candidate<number>[], offsetMs: number, span: [number, number]) => {
      const now = Date.parse(`${date}T00:00Z`) + offsetMs;
      const [first, last] = span;
      const from = minutes.from + first * minuteMs;
      const to = minutes.from + last * minuteMs;
      const expected: { startsAt: number; endsAt: number; staff: number[] }[] = [];
      const looks = team.map((candidate) => oracle(minutes, bookingType, candidate, now));
      for (let index = first; index < last; index += 1) {
        const startsAt = minutes.from + index * minuteMs;
        const free = team.filter((_, who) => looks[who]!(index).length === 0);
        const endsAt = startsAt + bookingType.duration_minutes * minuteMs;
        if (free.length > 0) expected.push({ startsAt, endsAt, staff: free.map(({ id }) => id) });
        if (index % 35 === 0 || free.length > 0)
          expect(refusalsOf({ bookingType, zone, now, candidate: team[0]!, startsAt })).toEqual(looks[0]!(index));
      }
      const search = { bookingType, zone, now, staff: team, from, to };
      expect(freeStarts({ ...search, limit: Infinity })).toEqual(expected);
      expect(freeStarts({ ...search, limit: 3 })).toEqual(expected.slice(0, 3));
    };
    const span = fc.tuple(fc.integer({ min: 2 * 1_440, max: 5 * 1_440 }), fc.integer({ min: 1, max: 2 * 1_440 }));
    const spans = span.map(([first, length]): [number, number] => [first, Math.min(first + length, 6 * 1_440)]);
    fc.assert(fc.property(bookingTypes, staff, nowMs, spans, check), { numRuns: 60 });
  });
});
