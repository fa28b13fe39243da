import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from './retry-after.ts';

const hourMs = 3_600_000;

describe('parseRetryAfter', () => {
  const now = Date.UTC(2026, 10, 21, 3, 0, 0);

  it.each([
    ['120', 120_000],
    [' 1 ', 1000],
    ['86400', 24 * hourMs],
    ['86401', 24 * hourMs],
    ['99999999999999999999999', 24 * hourMs],
    ['Sat, 21 Nov 2026 03:00:30 GMT', 30_000],
    ['Saturday, 21-Nov-26 03:00:30 GMT', 30_000],
    ['Sat Nov 21 03:00:30 2026', 30_000],
    ['Tue, 24 Nov 2026 03:00:30 GMT', 24 * hourMs],
  ])('"%s" is %d ms', (header, ms) => {
    expect(parseRetryAfter(header, now)).toBe(ms);
  });

  it.each([
    undefined,
    '',
    '0',
    '-5',
    '1.5',
    'soon',
    '2030-01-01',
    'Sat, 21 Nov 2026 02:59:59 GMT',
    'Sat, 99 Nov 2026 03:00:30 GMT',
  ])('"%s" is ignored', (header) => {
    expect(parseRetryAfter(header, now)).toBeUndefined();
  });
});
