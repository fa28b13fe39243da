import { describe, expect, it } from '@jest/globals';
import { dayBefore, dayOf, startOfDay } from './day.ts';

describe('a day', () => {
  it('is the date that it is in the zone', () => {
    const instant = new Date('2026-03-01T23:30:00Z');
    expect(
      ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'].map((zone) => dayOf(instant, zone)),
    ).toEqual(['2026-03-01', '2026-03-02', '2026-03-01', '2026-03-02']);
  });

  it('follows the one before over ends of months, years and summer time', () => {
    expect([dayBefore('2026-03-01', 1), dayBefore('2026-01-01', 1), dayBefore('2026-03-30', 29)]).toEqual([
      '2026-02-28',
      '2025-12-31',
      '2026-03-01',
    ]);
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
    const instant = startOfDay(day, zone);
    expect(instant.toISOString()).toBe(start);
    expect(dayOf(instant, zone)).toBe(day);
    expect(dayOf(new Date(instant.getTime() - 1), zone)).toBe(dayBefore(day, 1));
  });
});
