import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { WorkMeter } from './work-meter.ts';

let nowMs: number;
let ran: string[];
let meter: WorkMeter;
beforeEach(() => {
  jest.useFakeTimers();
  nowMs = 0;
  ran = [];
  meter = new WorkMeter({ freeMs: 20, restRatio: 20 }, () => nowMs);
});
afterEach(() => {
  jest.useRealTimers();
});

/** Runs a piece that takes this long. */
const run = (owner: string, name: string, takesMs: number) =>
  meter.run(owner, () => {
    ran.push(name);
    nowMs += takesMs;
  });

it('pieces that together are not dear run at once, and what they took is forgotten with time', () => {
  for (let piece = 0; piece < 10; piece++) run('ada', String(piece), 2);
  jest.advanceTimersByTime(400);
  for (let piece = 10; piece < 20; piece++) run('ada', String(piece), 2);
  expect(ran).toHaveLength(20);
});

it('pieces none of which is dear have their owner rest once they are together, and nobody else', () => {
  for (let piece = 0; piece < 4; piece++) run('ada', String(piece), 16);
  expect(ran).toEqual(['0', '1']);
  run('bo', 'other', 16);
  expect(ran).toEqual(['0', '1', 'other']);
  jest.advanceTimersByTime(12 * 20 - 1);
  expect(ran).toEqual(['0', '1', 'other']);
  jest.advanceTimersByTime(1);
  expect(ran).toEqual(['0', '1', 'other', '2']);
  jest.advanceTimersByTime(16 * 20);
  expect(ran).toEqual(['0', '1', 'other', '2', '3']);
});

it('after a dear one the others of its owner wait twenty times as long as it was dear, in their order, and nobody else', () => {
  run('ada', 'dear', 70);
  run('ada', 'second', 1);
  run('ada', 'third', 1);
  run('bo', 'other', 1);
  expect(ran).toEqual(['dear', 'other']);
  jest.advanceTimersByTime(999);
  expect(ran).toEqual(['dear', 'other']);
  jest.advanceTimersByTime(1);
  expect(ran).toEqual(['dear', 'other', 'second']);
  jest.advanceTimersByTime(20);
  expect(ran).toEqual(['dear', 'other', 'second', 'third']);
});

it('what is done at once while its owner rests makes the rest longer', () => {
  for (const takesMs of [30, 120]) meter.atOnce('ada', () => (nowMs += takesMs));
  run('ada', 'waits', 1);
  jest.advanceTimersByTime(130 * 20 - 1);
  expect(ran).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(ran).toEqual(['waits']);
});

it('one that somebody waits for is refused after 20 s, and not run', async () => {
  run('ada', 'dear', 2_000);
  const waited = meter.result('ada', () => ran.push('late'));
  const refused = expect(waited).rejects.toMatchObject({ status: 429, code: 'rate_limited' });
  jest.advanceTimersByTime(20_000);
  await refused;
  jest.advanceTimersByTime(40_000);
  expect(ran).toEqual(['dear']);
  expect(await meter.result('ada', () => 'next')).toBe('next');
});

it('of many dear ones each waits for the rest after the one before', () => {
  for (const name of ['first', 'second', 'third']) run('ada', name, 120);
  expect(ran).toEqual(['first']);
  jest.advanceTimersByTime(2_000);
  expect(ran).toEqual(['first', 'second']);
  run('ada', 'fourth', 1);
  jest.advanceTimersByTime(2_400);
  expect(ran).toEqual(['first', 'second', 'third']);
  jest.advanceTimersByTime(2_400);
  expect(ran).toEqual(['first', 'second', 'third', 'fourth']);
});

it('one that fails has its owner rest too', () => {
  const fail = () =>
    meter.run('ada', () => {
      nowMs += 120;
      throw new Error('broken');
    });
  expect(fail).toThrow('broken');
  run('ada', 'next', 1);
  expect(ran).toEqual([]);
  jest.advanceTimersByTime(2_000);
  expect(ran).toEqual(['next']);
});
