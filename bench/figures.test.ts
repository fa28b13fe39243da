import { expect, it } from '@jest/globals';
import { atLeast, atMost, median, percentile, tableLines, told } from './figures.ts';

it('returns the middle value as the median, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 10])).toBe(3.5);
  expect(() => median([])).toThrow('the median of no values is undefined');
});

it('returns a measured value as the percentile, by nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(percentile(values, 0.5)).toBe(50);
  expect(percentile(values, 0.99)).toBe(99);
  expect(percentile([7], 0.99)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow('percentile of no values is undefined');
});

it('returns whether a target is met, including its bound', () => {
  expect([atMost('a', 1.25, 1.25).holds, atMost('a', 1.26, 1.25).holds]).toEqual([true, false]);
  expect([atLeast('a', 0.4, 0.4).holds, atLeast('a', 0.39, 0.4).holds]).toEqual([true, false]);
  expect(
    tableLines([atLeast('rate', 12_345, 2_500, '/s'), atMost('time', 12.34, 4, 'ms'), told('load', 0.123)]),
  ).toEqual([
    '| rate | 12,345 /s | ≥ 2,500 /s | yes |',
    '| time | 12.3 ms | ≤ 4 ms | **no** |',
    '| load | 0.12 |  |  |',
  ]);
});
