import { MovableClock } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { QueueHistory } from './queue-history.ts';

const minute = 60_000;
const idle = { ready: 0, running: 0, waiting: 0, dead: 0, lag_seconds: 0, paused: false, pauses: [] };
const queue = <Given extends object>(given: Given) => ({
  service: 'webhooks' as const,
  queue: 'deliveries',
  ...idle,
  ...given,
});
const clock = new MovableClock();

/** Returns a history of the test's queues and a function that takes samples one minute apart. */
function historyOf(queues: () => ReturnType<typeof queue>[]) {
  const history = new QueueHistory(async () => ({ data: queues() }), clock.now);
  const sample = async (times: number) => {
    for (let count = 0; count < times; count++) {
      await history.sample();
      clock.advance(minute);
    }
  };
  return { history, sample };
}

it('keeps an hour of samples of each queue, oldest first', async () => {
  let ready = 0;
  const { history, sample } = historyOf(() => [queue({ ready: ready++, waiting: 7 }), queue({ queue: 'replays' })]);
  await sample(70);
  const depths = history.of(queue({}));
  expect(depths.length).toBeLessThanOrEqual(61);
  expect(depths.map((depth) => depth.ready)).toEqual(depths.map((_, index) => 70 - depths.length + index));
  expect(depths[0]!.ready).toBeLessThanOrEqual(10);
  expect(depths.at(-1)).toEqual({ at: expect.any(String), ready: 69, running: 0, waiting: 7, dead: 0 });
  expect(Date.parse(depths.at(-1)!.at) - Date.parse(depths[0]!.at)).toBeGreaterThanOrEqual(59 * minute);
  expect(history.of(queue({ queue: 'replays' }))).toHaveLength(depths.length);
});

it('has a gap while a service does not reply, and drops its samples after an hour', async () => {
  let isThere = true;
  const { history, sample } = historyOf(() => (isThere ? [queue({})] : []));
  await sample(1);
  isThere = false;
  await sample(5);
  expect(history.of(queue({}))).toHaveLength(1);
  await sample(60);
  expect(history.of(queue({}))).toEqual([]);
});
