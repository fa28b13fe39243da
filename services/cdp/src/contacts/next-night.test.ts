import { expect, it } from '@jest/globals';
import { nextNight } from './next-night.ts';

it.each([
  ['later today', 'Europe/Berlin', '2026-11-20T00:30:00Z', '2026-11-20T01:00:00.000Z'],
  ['tomorrow', 'Europe/Berlin', '2026-11-20T01:00:00Z', '2026-11-21T01:00:00.000Z'],
  ['in a zone far ahead of UTC', 'Pacific/Kiritimati', '2026-11-20T11:00:00Z', '2026-11-20T12:00:00.000Z'],
  ['in a zone with an offset of odd minutes', 'Asia/Kathmandu', '2026-11-20T12:00:00Z', '2026-11-20T20:15:00.000Z'],
  ['when the clock skips it: at the change', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00.000Z'],
  ['when the clock shows it twice: the first', 'Europe/Berlin', '2026-10-24T12:00:00Z', '2026-10-25T00:00:00.000Z'],
  ['after the first of two', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-26T01:00:00.000Z'],
  ['when the clock has changed at midnight', 'Asia/Beirut', '2026-03-28T12:00:00Z', '2026-03-28T23:00:00.000Z'],
])('finds the next 02:00 %s', (_case, zone, now, night) => {
  expect(nextNight(new Date(now), zone).toISOString()).toBe(night);
});
