import { expect, it } from '@jest/globals';
import { DeadlineWatch, type Timed } from './deadline-watch.ts';

it('calls each that is not over in its time, once, and in the order in which they began', async () => {
  const late: Timed[] = [];
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const watch = new DeadlineWatch<Timed>(30, 5, (item) => {
    if (late.push(item) === 2) resolve();
  });
  const [first, over, last] = [0, 1, 2].map(() => ({ startedAtMs: performance.now(), isOver: false }));
  for (const item of [first, over, last]) watch.watch(item!);
  over!.isOver = true;
  await both;
  expect(performance.now() - first!.startedAtMs).toBeGreaterThanOrEqual(30);
  expect(late).toEqual([first, last]);
  watch.stop();
});

it('watches what begins while another is called late', async () => {
  const { promise: second, resolve } = Promise.withResolvers<Timed>();
  const next = { startedAtMs: 0, isOver: false };
  const first = { startedAtMs: 0, isOver: false };
  const watch = new DeadlineWatch<Timed>(5, 1, (item) => (item === first ? watch.watch(next) : resolve(item)));
  watch.watch(first);
  expect(await second).toBe(next);
  watch.stop();
});

it('calls nothing once it is stopped', async () => {
  const late: Timed[] = [];
  const watch = new DeadlineWatch<Timed>(1, 1, (item) => void late.push(item));
  watch.watch({ startedAtMs: 0, isOver: false });
  watch.stop();
  // Another one with the same times has been called: the first had its chance.
  await new Promise((resolve) => {
    const other = new DeadlineWatch<Timed>(1, 1, resolve);
    other.watch({ startedAtMs: performance.now(), isOver: false });
  });
  expect(late).toEqual([]);
});
