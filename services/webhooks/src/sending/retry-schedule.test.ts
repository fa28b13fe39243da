import { describe, expect, it } from '@jest/globals';
import { nextWaitMs, parseRetrySchedule } from './retry-schedule.ts';

const hourMs = 3_600_000;
const defaultSchedule = '0,5s,5m,30m,2h,5h,10h,14h,20h,24h';

describe('parseRetrySchedule', () => {
  it('reads the default schedule', () => {
    const waits = [0, 5000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs)];
    expect(parseRetrySchedule(defaultSchedule)).toEqual(waits);
  });

  it('reads every unit and spaces around them', () => {
    expect(parseRetrySchedule('0, 250ms ,1s,1m,1h,30d')).toEqual([0, 250, 1000, 60_000, hourMs, 30 * 24 * hourMs]);
  });

  it.each(['', '5', '5x', '-1s', '1.5s', '31d', 's', '5 s'])('the wait "%s" is refused by name', (part) => {
    expect(() => parseRetrySchedule(`0,${part}`)).toThrow(`"${part}" is not a wait`);
  });

  it('more than 50 waits are refused', () => {
    expect(() => parseRetrySchedule(Array(51).fill('1s').join(','))).toThrow('at most 50');
    expect(parseRetrySchedule(Array(50).fill('1s').join(','))).toHaveLength(50);
  });
});

describe('nextWaitMs', () => {
  const schedule = parseRetrySchedule(defaultSchedule);

  it('adds at most a tenth', () => {
    expect(nextWaitMs(schedule, 1, 0, undefined)).toBe(5000);
    expect(nextWaitMs(schedule, 1, 0.5, undefined)).toBe(5250);
    expect(nextWaitMs(schedule, 9, 0.999999, undefined)).toBeLessThanOrEqual(26.4 * hourMs);
  });

  it('the first attempt is immediate', () => {
    expect(nextWaitMs(schedule, 0, 0.9, undefined)).toBe(0);
  });

  it('the schedule is exhausted after its last wait, even with Retry-After', () => {
    expect(nextWaitMs(schedule, 9, 0, undefined)).toBe(24 * hourMs);
    expect(nextWaitMs(schedule, 10, 0, undefined)).toBeNull();
    expect(nextWaitMs(schedule, 10, 0, 60_000)).toBeNull();
  });

  it('Retry-After is a lower bound', () => {
    expect(nextWaitMs(schedule, 1, 0, 60_000)).toBe(60_000);
    expect(nextWaitMs(schedule, 2, 0, 60_000)).toBe(300_000);
  });
});
