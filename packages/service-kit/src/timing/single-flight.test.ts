import { expect, it } from '@jest/globals';
import { coalesced } from './single-flight.ts';

it('runs once more for all calls during a run, after it, and continues after a failure', async () => {
  const runs: { resolve(value: number): void; reject(error: Error): void }[] = [];
  const call = coalesced(() => {
    const { promise, ...run } = Promise.withResolvers<number>();
    runs.push(run);
    return promise;
  });
  const first = call();
  await new Promise(setImmediate);
  const others = [call(), call(), call()];
  await new Promise(setImmediate);
  expect(runs).toHaveLength(1);
  runs[0]!.reject(new Error('the database is gone'));
  await expect(first).rejects.toThrow('the database is gone');
  await new Promise(setImmediate);
  expect(runs).toHaveLength(2);
  runs[1]!.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  const later = call();
  await new Promise(setImmediate);
  runs[2]!.resolve(3);
  expect(await later).toBe(3);
});
