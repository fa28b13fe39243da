import { describe, expect, it } from '@jest/globals';
import { weekOf } from '../../test/calendar.ts';
import { type BookableType, type Candidate, freeStarts, refusalsOf } from './free-starts.ts';
import type { TimeRange } from './local-day.ts';

/** Examples of the rules that free-starts.property.test.ts compares with a check of every minute, and of fractions of a minute. */
const at = Date.parse;
const range = (from: string, to: string): TimeRange => ({ startsAt: at(from), endsAt: at(to) });
const halfHour: BookableType = {
  duration_minutes: 30,
  prep_minutes: 0,
  slot_interval_minutes: 30,
  min_notice_minutes: 0,
  window_days: 60,
};
const ada: Candidate<string> = {
  id: 'ada',
  active: true,
  hours: weekOf(['09:00', '11:00']),
  overrides: {},
  taken: [],
  timeOff: [],
};

type Search = { staff?: Candidate<string>[]; type?: Partial<BookableType>; now?: string };
type Window = { from: string; to: string };
const monday: Window = { from: '2026-06-01T00:00Z', to: '2026-06-02T00:00Z' };
const listed = ({ staff = [ada], type = {}, now = '2026-01-01T00:00Z', from, to }: Search & Window) => {
  const bookingType = { ...halfHour, window_days: 365, ...type };
  return freeStarts({ bookingType, staff, zone: 'UTC', now: at(now), from: at(from), to: at(to), limit: 1_000 });
};
const starts = (search: Search & Window) =>
  listed(search).map(({ startsAt }) => new Date(startsAt).toISOString().slice(0, 16));

describe('a free start', () => {
  const taken = { staff: [{ ...ada, taken: [range('2026-06-01T09:30Z', '2026-06-01T10:00Z')] }] };
  const away = { staff: [{ ...ada, timeOff: [range('2026-06-01T08:00Z', '2026-06-01T09:05Z')] }] };
  const closed = { '2026-06-01': [['14:00', '15:00']] } as Candidate<string>['overrides'];
  it.each<[string, Search, string[]]>([
    ['ends within the open hours', { type: { duration_minutes: 45 } }, ['09:00', '09:30', '10:00']],
    [
      'is on a grid counted from midnight, whatever the opening time',
      { staff: [{ ...ada, hours: weekOf(['09:10', '11:00']) }] },
      ['09:30', '10:00', '10:30'],
    ],
    ['may be adjacent to other appointments', taken, ['09:00', '10:00', '10:30']],
    [
      'keeps its prep free after the previous appointment, and may use time before opening for it',
      { ...taken, type: { prep_minutes: 15 } },
      ['09:00', '10:30'],
    ],
    ['does not overlap time off', away, ['09:30', '10:00', '10:30']],
    ['has a prep that does not overlap time off', { ...away, type: { prep_minutes: 30 } }, ['10:00', '10:30']],
    ['has the hours of a date where there are some', { staff: [{ ...ada, overrides: closed }] }, ['14:00', '14:30']],
    [
      'lies in open hours that overlap as in joined ones',
      { staff: [{ ...ada, hours: weekOf(['10:00', '11:00'], ['09:00', '10:15']) }], type: { duration_minutes: 120 } },
      ['09:00'],
    ],
  ])('%s', (_, search, times) => {
    expect(starts({ ...monday, ...search })).toEqual(times.map((time) => `2026-06-01T${time}`));
  });

  it('may be exactly at the notice or the end of the window, and not a millisecond beyond', () => {
    const type = { min_notice_minutes: 60, window_days: 1 };
    const window = { from: '2026-06-01T00:00Z', to: '2026-06-05T00:00Z', type };
    const all = ['2026-06-01T09:00', '2026-06-01T09:30', '2026-06-01T10:00', '2026-06-01T10:30'];
    expect(starts({ ...window, now: '2026-06-01T08:00Z' })).toEqual(all);
    expect(starts({ ...window, now: '2026-06-01T08:00:00.001Z' })).toEqual(all.slice(1));
    expect(starts({ ...window, now: '2026-05-31T10:30Z' })).toEqual(all);
    expect(starts({ ...window, now: '2026-05-31T10:29:59.999Z' })).toEqual(all.slice(0, 3));
  });
});

it('a refusal has all reasons, also for fractions of a minute', () => {
  const taken = [range('2026-05-01T00:00Z', '2026-06-01T00:00Z')];
  const candidate = { ...ada, active: false, taken, timeOff: taken };
  const refusals = (startsAt: string, who = ada) => {
    const now = at('2026-06-01T00:00Z');
    return refusalsOf({ bookingType: halfHour, zone: 'UTC', now, candidate: who, startsAt: at(startsAt) });
  };
  expect(refusals('2026-06-01T09:00Z')).toEqual([]);
  for (const off of ['2026-06-01T09:00:01Z', '2026-06-01T09:00:00.001Z']) expect(refusals(off)).toEqual(['off_grid']);
  const before = ['inactive', 'off_grid', 'too_soon', 'outside_hours', 'time_off', 'taken'];
  expect(refusals('2026-05-31T12:01Z', candidate)).toEqual(before);
});
