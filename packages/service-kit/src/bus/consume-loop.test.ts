import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Consumer } from '@nats-io/jetstream';
import { createLogger } from '../telemetry/logging.ts';
import { ConsumeLoop } from './consume-loop.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A consumer whose request brings one message. The bus then ends the request because of a leadership change. */
function endedByLeadershipChange(subject: string) {
  async function* messages() {
    yield { subject, data: Buffer.from('{}'), headers: undefined, info: { timestampNanos: 0 } };
    throw new Error('leadership change');
  }
  const fetch = async () => ({ [Symbol.asyncIterator]: messages, stop: () => undefined });
  return { fetch } as unknown as Pick<Consumer, 'fetch'>;
}

it('takes no second batch while one is in progress when the bus ends its request', async () => {
  const taken: string[] = [];
  const first = Promise.withResolvers<void>();
  let opened = 0;
  const durable = {
    open: async () => endedByLeadershipChange(String(++opened)),
    info: () => Promise.reject(new Error('no bus')),
  };
  const options = { size: 10, gatherMs: 0, log: createLogger('test', 'silent'), durable };
  const loop = new ConsumeLoop('test', options, async ([message]) => {
    taken.push(message!.subject);
    if (taken.length === 1) await first.promise;
  });
  await jest.advanceTimersByTimeAsync(10_000);
  expect([opened, taken]).toEqual([1, ['1']]);
  first.resolve();
  await jest.advanceTimersByTimeAsync(300);
  expect(taken.slice(0, 2)).toEqual(['1', '2']);
  await loop.stop();
});
