import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import { TimedOut, untilAborted, waitUntil, withTimeout } from './with-timeout.ts';

const never = new Promise<never>(() => undefined);
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

it('returns a result that comes in time, and leaves no timer', async () => {
  const before = timers();
  expect(await withTimeout(60_000, Promise.resolve('here'))).toBe('here');
  await expect(withTimeout(60_000, Promise.reject(new Error('own')))).rejects.toThrow('own');
  expect(timers()).toBe(before);
});

it('throws TimedOut, or the given error, once the time is over', async () => {
  await expect(withTimeout(1, never)).rejects.toThrow(TimedOut);
  await expect(withTimeout(1, never, () => new RangeError('late'))).rejects.toThrow('late');
});

it('ignores the failure of work that has timed out', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await expect(withTimeout(1, promise)).rejects.toThrow(TimedOut);
  reject(new Error('nobody waits for it'));
});

it('counts a result that arrived while the process was busy as in time', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const waited = withTimeout(5, promise);
  setTimeout(resolve, 6, 'here');
  const busyUntil = performance.now() + 10;
  while (performance.now() < busyUntil);
  expect(await waited).toBe('here');
});

it('throws the reason of a signal, begins no work after it, and leaves no listener', async () => {
  const stop = new AbortController();
  const waited = untilAborted(stop.signal, () => never);
  expect(await untilAborted(stop.signal, async () => 'here')).toBe('here');
  stop.abort(new Error('stopped'));
  await expect(waited).rejects.toThrow('stopped');
  await expect(untilAborted(stop.signal, () => Promise.reject(new Error('begun')))).rejects.toThrow('stopped');
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

it('waits until a condition holds, or the time is over', async () => {
  let asked = 0;
  await waitUntil(() => ++asked === 2, 60_000);
  await waitUntil(() => false, 1);
  expect(asked).toBe(2);
});
