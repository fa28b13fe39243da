import { describe, expect, it } from '@jest/globals';
import { type BookableType, type Candidate, freeStarts, refusalsOf } from './free-starts.ts';
import type { TimeRange } from './open-hours.ts';

const at = Date.parse;
const range = (from: string, to: string): TimeRange => ({ startsAt: at(from), endsAt: at(to) });
const halfHour: BookableType = {
  duration_minutes: 30,
  prep_minutes: 0,
  slot_interval_minutes: 30,
  min_notice_minutes: 0,
  window_days: 60,
};
const everyDay = (...hours: [string, string][]) => ({
  sun: hours,
  mon: hours,
  tue: hours,
  wed: hours,
  thu: hours,
  fri: hours,
  sat: hours,
});
const ada: Candidate<string> = {
  id: 'ada',
  active: true,
  hours: everyDay(['09:00', '11:00']),
  overrides: {},
  taken: [],
  timeOff: [],
};

type Search = {
  staff?: Candidate<string>[];
  type?: Partial<BookableType>;
  zone?: string;
  now?: string;
  from: string;
  to: string;
};
const listed = ({ staff = [ada], type = {}, zone = 'UTC', now = '2026-01-01T00:00Z', from, to }: Search) =>
  freeStarts({
    bookingType: { ...halfHour, window_days: 365, ...type },
    staff,
    zone,
    now: at(now),
    from: at(from),
    to: at(to),
    limit: 1_000,
  });
const starts = (search: Search) => listed(search).map(({ startsAt }) => new Date(startsAt).toISOString().slice(0, 16));
const refusals = (startsAt: string, candidate: Candidate<string> = ada, type: Partial<BookableType> = {}) =>
  refusalsOf({
    bookingType: { ...halfHour, ...type },
    zone: 'UTC',
    now: at('2026-06-01T00:00Z'),
    candidate,
    startsAt: at(startsAt),
  });

const monday = { from: '2026-06-01T00:00Z', to: '2026-06-02T00:00Z' };

describe('a free start', () => {
  it('lies on the grid and ends within the open hours', () => {
    expect(starts(monday)).toEqual(['2026-06-01T09:00', '2026-06-01T09:30', '2026-06-01T10:00', '2026-06-01T10:30']);
    expect(starts({ ...monday, type: { duration_minutes: 45 } })).toEqual([
      '2026-06-01T09:00',
      '2026-06-01T09:30',
      '2026-06-01T10:00',
    ]);
  });

  it('is counted from midnight, whenever the day opens', () => {
    const staff = [{ ...ada, hours: everyDay(['09:10', '11:00']) }];
    expect(starts({ ...monday, staff })).toEqual(['2026-06-01T09:30', '2026-06-01T10:00', '2026-06-01T10:30']);
  });

  it('may touch the appointment before and the one after', () => {
    const staff = [{ ...ada, taken: [range('2026-06-01T09:30Z', '2026-06-01T10:00Z')] }];
    expect(starts({ ...monday, staff })).toEqual(['2026-06-01T09:00', '2026-06-01T10:00', '2026-06-01T10:30']);
  });

  it('leaves its prep free after the appointment before, and may use the time before opening for it', () => {
    const staff = [{ ...ada, taken: [range('2026-06-01T09:30Z', '2026-06-01T10:00Z')] }];
    const type = { prep_minutes: 15 };
    expect(starts({ ...monday, staff, type })).toEqual(['2026-06-01T09:00', '2026-06-01T10:30']);
  });

  it('has neither time off in itself nor in its prep', () => {
    const staff = [{ ...ada, timeOff: [range('2026-06-01T08:00Z', '2026-06-01T09:05Z')] }];
    expect(starts({ ...monday, staff })).toEqual(['2026-06-01T09:30', '2026-06-01T10:00', '2026-06-01T10:30']);
    expect(starts({ ...monday, staff, type: { prep_minutes: 30 } })).toEqual(['2026-06-01T10:00', '2026-06-01T10:30']);
  });

  it('names the teammates in the order in which they were given', () => {
    const bob = { ...ada, id: 'bob', taken: [range('2026-06-01T10:30Z', '2026-06-01T11:00Z')] };
    const list = listed({ ...monday, staff: [bob, { ...ada, active: false, id: 'carl' }, ada] });
    expect(list.map(({ staff }) => staff.join())).toEqual(['bob,ada', 'bob,ada', 'bob,ada', 'ada']);
  });

  it('may be exactly at the notice and exactly at the end of the window, and no millisecond beyond', () => {
    const type = { min_notice_minutes: 60, window_days: 1 };
    const window = { from: '2026-06-01T00:00Z', to: '2026-06-05T00:00Z', type };
    const eleven = ['2026-06-01T09:00', '2026-06-01T09:30', '2026-06-01T10:00', '2026-06-01T10:30'];
    expect(starts({ ...window, now: '2026-06-01T08:00Z' })).toEqual(eleven);
    expect(starts({ ...window, now: '2026-06-01T08:00:00.001Z' })).toEqual(eleven.slice(1));
    expect(starts({ ...window, now: '2026-05-31T10:30Z' })).toEqual(eleven);
    expect(starts({ ...window, now: '2026-05-31T10:29:59.999Z' })).toEqual(eleven.slice(0, 3));
  });

  it('is in [from, to)', () => {
    const from = '2026-06-01T09:30Z';
    expect(starts({ from, to: '2026-06-01T10:30Z' })).toEqual(['2026-06-01T09:30', '2026-06-01T10:00']);
    expect(starts({ from, to: from })).toEqual([]);
  });
});

describe('open hours', () => {
  it('are replaced by the hours of a date, and none of them means closed', () => {
    const overrides = { '2026-06-01': [['14:00', '15:00']], '2026-06-02': [] } as Candidate<string>['overrides'];
    const staff = [{ ...ada, hours: everyDay(['09:00', '09:30']), overrides }];
    const week = { from: '2026-06-01T00:00Z', to: '2026-06-04T00:00Z' };
    expect(starts({ ...week, staff })).toEqual(['2026-06-01T14:00', '2026-06-01T14:30', '2026-06-03T09:00']);
  });

  it('that overlap are joined', () => {
    const hours = everyDay(['10:00', '11:00'], ['09:00', '10:15']);
    expect(starts({ ...monday, staff: [{ ...ada, hours }], type: { duration_minutes: 120 } })).toEqual([
      '2026-06-01T09:00',
    ]);
  });

  it('may go on over midnight', () => {
    const staff = [{ ...ada, hours: { mon: [['23:00', '24:00']], tue: [['00:00', '01:00']] } } as Candidate<string>];
    const type = { duration_minutes: 60, slot_interval_minutes: 60 };
    const days = { from: '2026-06-01T00:00Z', to: '2026-06-03T00:00Z' };
    expect(starts({ ...days, staff, type })).toEqual(['2026-06-01T23:00', '2026-06-02T00:00']);
    expect(starts({ ...days, staff, type: { ...type, duration_minutes: 120 } })).toEqual(['2026-06-01T23:00']);
  });
});

describe('on the day of a clock change', () => {
  const night = [{ ...ada, hours: everyDay(['01:30', '04:00']) }];
  const spring = { zone: 'Europe/Berlin', staff: night, from: '2026-03-28T23:00Z', to: '2026-03-29T22:00Z' };
  const autumn = { zone: 'Europe/Berlin', staff: night, from: '2026-10-24T22:00Z', to: '2026-10-25T23:00Z' };

  it('times that do not exist are skipped', () => {
    // 01:30 +01:00, then 03:00 and 03:30 +02:00.
    expect(starts(spring)).toEqual(['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30']);
  });

  it('the first of two equal times counts', () => {
    // 01:30, 02:00 and 02:30 +02:00, then 03:00 and 03:30 +01:00.
    expect(starts(autumn)).toEqual([
      '2026-10-24T23:30',
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T02:00',
      '2026-10-25T02:30',
    ]);
  });

  it('a length is elapsed time', () => {
    expect(starts({ ...spring, type: { duration_minutes: 90 } })).toEqual(['2026-03-29T00:30']);
    expect(starts({ ...autumn, type: { duration_minutes: 210 } })).toEqual(['2026-10-24T23:30']);
  });

  it('an opening bound inside the gap takes effect at the change', () => {
    const opening = [{ ...ada, hours: everyDay(['02:15', '04:00']) }];
    expect(starts({ ...spring, staff: opening })).toEqual(['2026-03-29T01:00', '2026-03-29T01:30']);
    const closing = [{ ...ada, hours: everyDay(['01:00', '02:45']) }];
    expect(starts({ ...spring, staff: closing })).toEqual(['2026-03-29T00:00', '2026-03-29T00:30']);
  });

  it('a day without a midnight starts at its first instant, with its grid where the clock shows it', () => {
    const staff = [{ ...ada, hours: everyDay(['00:00', '02:00']) }];
    const day = { zone: 'Africa/Cairo', staff, from: '2026-04-23T22:00Z', to: '2026-04-24T21:00Z' };
    // The clock goes from 23:59 to 01:00 on 24 April.
    expect(starts(day)).toEqual(['2026-04-23T22:00', '2026-04-23T22:30']);
  });

  it('a change of half an hour moves the grid with the clock', () => {
    const staff = [{ ...ada, hours: everyDay(['01:00', '04:00']) }];
    const type = { slot_interval_minutes: 60 };
    const day = { zone: 'Australia/Lord_Howe', staff, type, from: '2026-10-03T13:30Z', to: '2026-10-04T13:00Z' };
    // 02:00 does not exist: 01:00 +10:30, then 03:00 +11:00.
    expect(starts(day)).toEqual(['2026-10-03T14:30', '2026-10-03T16:00']);
  });

  it('a date that a zone left out has no starts', () => {
    const day = { zone: 'Pacific/Apia', from: '2011-12-29T10:00Z', to: '2011-12-31T10:00Z', now: '2011-12-01T00:00Z' };
    // 29 December 09:00 −10:00, then 31 December 09:00 +14:00.
    const hours = everyDay(['09:00', '09:30']);
    expect(starts({ ...day, staff: [{ ...ada, hours }] })).toEqual(['2011-12-29T19:00', '2011-12-30T19:00']);
  });
});

describe('a refusal', () => {
  it('names each reason alone', () => {
    expect(refusals('2026-06-01T09:00Z')).toEqual([]);
    expect(refusals('2026-06-01T09:00Z', { ...ada, active: false })).toEqual(['inactive']);
    expect(refusals('2026-06-01T09:15Z')).toEqual(['off_grid']);
    expect(refusals('2026-06-01T09:00:01Z')).toEqual(['off_grid']);
    expect(refusals('2026-06-01T09:00:00.001Z')).toEqual(['off_grid']);
    expect(refusals('2026-05-31T09:00Z')).toEqual(['too_soon']);
    expect(refusals('2026-08-01T09:00Z')).toEqual(['too_far']);
    expect(refusals('2026-06-01T11:00Z')).toEqual(['outside_hours']);
    const timeOff = [range('2026-06-01T09:29Z', '2026-06-01T12:00Z')];
    expect(refusals('2026-06-01T09:00Z', { ...ada, timeOff })).toEqual(['time_off']);
    const taken = [range('2026-06-01T08:00Z', '2026-06-01T09:01Z')];
    expect(refusals('2026-06-01T09:00Z', { ...ada, taken })).toEqual(['taken']);
  });

  it('names all of several', () => {
    const taken = [range('2026-05-01T00:00Z', '2026-06-01T00:00Z')];
    const candidate = { ...ada, active: false, taken, timeOff: taken };
    expect(refusals('2026-05-31T12:01Z', candidate)).toEqual([
      'inactive',
      'off_grid',
      'too_soon',
      'outside_hours',
      'time_off',
      'taken',
    ]);
  });
});
