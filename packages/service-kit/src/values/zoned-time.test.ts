import { isTimezone } from '@customer-platform/contracts/core';
import { expect, it } from '@jest/globals';
import { dayMs, dayOf, formatInstant, instantOf, localAt } from './zoned-time.ts';

it.each([
  ['2026-07-01T10:00:00Z', 'Europe/Berlin', '2026-07-01T12:00:00+02:00'],
  ['2026-12-01T10:00:00.250Z', 'Europe/Berlin', '2026-12-01T11:00:00.250+01:00'],
  ['2026-12-01T10:00:00Z', 'UTC', '2026-12-01T10:00:00+00:00'],
  ['2026-12-01T10:00:00Z', 'Asia/Kathmandu', '2026-12-01T15:45:00+05:45'],
  ['2026-12-01T02:00:00Z', 'America/New_York', '2026-11-30T21:00:00-05:00'],
  ['2011-12-30T09:59:59Z', 'Pacific/Apia', '2011-12-29T23:59:59-10:00'],
  ['2011-12-30T10:00:00Z', 'Pacific/Apia', '2011-12-31T00:00:00+14:00'],
])('%s in %s is %s', (instant, zone, expected) => {
  expect(formatInstant(new Date(instant), zone)).toBe(expected);
});

it('formats every zone that a request may name, and no other', () => {
  const onlyOfIntl = ['ACT', 'AST', 'BST', 'CST', 'IST', 'JST', 'PST', 'SST', 'pst'];
  const isFormatted = (zone: string) => {
    try {
      return formatInstant(new Date(0), zone) !== '';
    } catch {
      return false;
    }
  };
  for (const zone of [
    ...Intl.supportedValuesOf('timeZone'),
    'UTC',
    'US/Pacific',
    'EST',
    'CET',
    ...onlyOfIntl,
    '+01:00',
    'Mars/Phobos',
    '',
  ])
    expect([zone, isTimezone(zone)]).toEqual([zone, isFormatted(zone) && !zone.startsWith('+')]);
  expect(onlyOfIntl.filter(isTimezone)).toEqual([]);
});

it('changes the offset at the very instant of a clock change', () => {
  const change = Date.parse('2026-03-29T01:00:00Z');
  expect([change - 1, change].map((ms) => (localAt(ms, 'Europe/Berlin') - ms) / 3_600_000)).toEqual([1, 2]);
});

it('names the same instant whatever the zone', () => {
  for (const zone of ['Australia/Lord_Howe', 'America/St_Johns', 'Africa/Cairo', 'Asia/Tokyo']) {
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 7_777_777_000) {
      expect(Date.parse(formatInstant(new Date(ms), zone))).toBe(ms);
    }
  }
});

it('a day is the date in the zone', () => {
  const instant = new Date('2026-03-01T23:30:00Z');
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'];
  expect(zones.map((zone) => dayOf(instant, zone))).toEqual(['2026-03-01', '2026-03-02', '2026-03-01', '2026-03-02']);
});

it.each([
  ['UTC', '2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['Europe/Berlin', '2026-11-20', '2026-11-19T23:00:00.000Z'],
  ['Pacific/Kiritimati', '2026-11-20', '2026-11-19T10:00:00.000Z'],
  // Midnight does not exist: the clocks go from 00:00 to 01:00.
  ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
  // Midnight happens twice: the clocks go from 01:00 back to 00:00.
  ['Atlantic/Azores', '2026-10-25', '2026-10-25T00:00:00.000Z'],
  // The hour before midnight happens twice.
  ['America/Santiago', '2026-04-05', '2026-04-05T04:00:00.000Z'],
])('begins in %s on %s at %s', (zone, day, start) => {
  const instant = instantOf(day, zone);
  const eve = new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10);
  expect([instant.toISOString(), dayOf(instant, zone)]).toEqual([start, day]);
  expect(dayOf(new Date(instant.getTime() - 1), zone)).toBe(eve);
});
