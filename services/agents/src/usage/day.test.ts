import { expect, it } from '@jest/globals';
import { dayBefore } from './day.ts';

it('a day follows the one before over ends of months, years and summer time', () => {
  expect([dayBefore('2026-03-01', 1), dayBefore('2026-01-01', 1), dayBefore('2026-03-30', 29)]).toEqual([
    '2026-02-28',
    '2025-12-31',
    '2026-03-01',
  ]);
});
