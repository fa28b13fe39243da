import { expect, it } from '@jest/globals';
import { gaugeReader } from './meter.ts';

const valuesOf = async (read: ReturnType<typeof gaugeReader<string>>) =>
  Object.fromEntries([...(await read())].map(({ name, value }) => [name, value]));

it('gives a collection that cannot wait the previous values, and late values to the next collection', async () => {
  const late = Promise.withResolvers<number>();
  const measurements = [1, late.promise, 3];
  let measured = 0;
  const reader = gaugeReader<string>(async (observe) => {
    measured += 1;
    observe('queue.lag', await measurements[measured - 1]!);
  });
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 1 });
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 1 });
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 1 });
  expect(measured).toBe(2);
  late.resolve(2);
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 2 });
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 3 });
});

it('gives 0 for a gauge that is no longer observed', async () => {
  let queues = ['outbox', 'deliveries'];
  const reader = gaugeReader<string>((observe) => {
    for (const queue of queues) observe(`queue.dead ${queue}`, 7, { queue });
  });
  expect(await valuesOf(reader)).toEqual({ 'queue.dead outbox': 7, 'queue.dead deliveries': 7 });
  queues = ['outbox'];
  expect(await valuesOf(reader)).toEqual({ 'queue.dead outbox': 7, 'queue.dead deliveries': 0 });
});

it('rejects with the error of a measurement, and measures again afterwards', async () => {
  const outcomes = [Promise.reject(new Error('no database')), 5];
  const reader = gaugeReader<string>(async (observe) => observe('queue.lag', await outcomes.shift()!));
  await expect(valuesOf(reader)).rejects.toThrow('no database');
  expect(await valuesOf(reader)).toEqual({ 'queue.lag': 5 });
});
