import { expect, it } from '@jest/globals';
import { computed } from './compute.ts';
import { ClientGone } from './fair-permits.ts';
import { WorkMeter } from './work-meter.ts';

/** A meter by whose clock no piece takes any time, or each an hour. */
function meterOf(takesMs = 0): WorkMeter {
  let nowMs = 0;
  return new WorkMeter({ freeMs: 0, restRatio: 1 }, () => {
    nowMs += takesMs;
    return nowMs;
  });
}

const customer = { owner: 'ada', response: { closed: false } };

/** Yields `count` numbers, each after as long as one stretch is. */
function* slowly(count: number) {
  for (let piece = 0; piece < count; piece++) {
    const untilMs = performance.now() + 10;
    while (performance.now() < untilMs);
    yield piece;
  }
}

it('gives what all pieces gave, and others go on in between', async () => {
  let others = 0;
  let isOver = false;
  const goOn = () => {
    others++;
    if (!isOver) setImmediate(goOn);
  };
  setImmediate(goOn);
  expect(await computed(slowly(5), customer, meterOf())).toEqual([0, 1, 2, 3, 4]);
  isOver = true;
  expect(others).toBeGreaterThanOrEqual(4);
});

it('ends with what a piece throws, and where the client went away', async () => {
  const failing = function* () {
    yield 1;
    throw new Error('broken');
  };
  await expect(computed(failing(), customer, meterOf())).rejects.toThrow('broken');
  const gone = computed(slowly(5), { ...customer, response: { closed: true } }, meterOf());
  await expect(gone).rejects.toBeInstanceOf(ClientGone);
});

it('of an owner waits for those before that were dear, and for nobody else', async () => {
  const meter = meterOf(3_600_000);
  expect(await computed([1], customer, meter)).toEqual([1]);
  let isWaiting = true;
  const second = computed([2], customer, meter).finally(() => {
    isWaiting = false;
  });
  // It rests for an hour, and is refused before that: after the test.
  second.catch(() => undefined);
  expect(await computed([3], { ...customer, owner: 'bo' }, meter)).toEqual([3]);
  expect(isWaiting).toBe(true);
});
