import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '../telemetry/logging.ts';
import { ConsumeLoop } from './consume-loop.ts';
import type { PulledMessage, PulledMessages } from './pulled-messages.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** One message, and then the error with which the bus ends a request where the consumer has another leader. */
function endedByLeader(subject: string): PulledMessages {
  const message = { subject, data: Buffer.from('{}'), headers: undefined, storedAt: new Date() };
  async function* messages() {
    yield message as unknown as PulledMessage;
    throw new Error('the bus ended a request: 409 Leadership Change');
  }
  return { [Symbol.asyncIterator]: messages, stop: () => undefined } as unknown as PulledMessages;
}

it('takes nothing beside what it is taking when the bus ends its request', async () => {
  const taken: string[] = [];
  const first = Promise.withResolvers<void>();
  let opened = 0;
  const loop = new ConsumeLoop(
    { size: 10, gatherMs: 0 },
    async ([message]) => {
      taken.push(message!.subject);
      if (taken.length === 1) await first.promise;
    },
    createLogger('test', 'silent'),
    async () => endedByLeader(String(++opened)),
  );
  await jest.advanceTimersByTimeAsync(10_000);
  expect([opened, taken]).toEqual([1, ['1']]);
  first.resolve();
  await jest.advanceTimersByTimeAsync(300);
  expect(taken.slice(0, 2)).toEqual(['1', '2']);
  await loop.stop();
});

it('asks for no more where what waits is large, however few messages it is', async () => {
  let yielded = 0;
  async function* messages() {
    for (; yielded < 1_000; yielded++)
      yield {
        subject: 'x',
        data: Buffer.alloc(1_048_576),
        headers: undefined,
        storedAt: new Date(),
      } as unknown as PulledMessage;
  }
  const pulled = { [Symbol.asyncIterator]: messages, stop: () => undefined } as unknown as PulledMessages;
  const taking = Promise.withResolvers<void>();
  const loop = new ConsumeLoop(
    { size: 500, gatherMs: 0 },
    () => taking.promise,
    createLogger('test', 'silent'),
    async () => pulled,
  );
  await jest.advanceTimersByTimeAsync(1_000);
  expect(yielded).toBeLessThan(20);
  taking.resolve();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(yielded).toBe(1_000);
  await loop.stop();
});
