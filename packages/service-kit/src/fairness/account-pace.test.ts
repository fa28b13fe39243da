import { expect, it } from '@jest/globals';
import { AccountPace } from './account-pace.ts';

it('an account that had its part waits until it has some again, and nobody else does', () => {
  let nowMs = 0;
  const pace = new AccountPace(1_000, () => nowMs);
  pace.spend('a', 999);
  expect(pace.waiting()).toEqual([]);
  pace.spend('a', 501);
  pace.spend('b', 10);
  expect(pace.waiting()).toEqual(['a']);
  expect(pace.waitMs()).toBe(501);
  nowMs += 500;
  expect(pace.waiting()).toEqual(['a']);
  nowMs += 1;
  expect(pace.waiting()).toEqual([]);
});

it('an account that needs nothing for long saves no more than the part of a second', () => {
  let nowMs = 0;
  const pace = new AccountPace(1_000, () => nowMs);
  pace.spend('a', 1);
  nowMs += 3_600_000;
  pace.spend('a', 999);
  expect(pace.waiting()).toEqual([]);
  pace.spend('a', 1);
  expect(pace.waiting()).toEqual(['a']);
});
