import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Consumer, JsMsg } from '@nats-io/jetstream';
import { createLogger } from '../telemetry/logging.ts';
import { ConsumeLoop } from './consume-loop.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A consumer each of whose requests brings what `messages` yields. */
function consumerOf(messages: (stopped: Promise<void>) => AsyncGenerator<JsMsg>): Pick<Consumer, 'fetch'> {
  const fetch = async () => {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    return { [Symbol.asyncIterator]: () => messages(stopped), stop };
  };
  return { fetch } as unknown as Pick<Consumer, 'fetch'>;
}

const message = (subject: string, data: Uint8Array) =>
  ({ subject, data, headers: undefined, info: { timestampNanos: 0 } }) as unknown as JsMsg;

/** One message, and then the error with which the bus ends a request where the consumer has another leader. */
const endedByLeader = (subject: string) =>
  consumerOf(async function* messages() {
    yield message(subject, Buffer.from('{}'));
    throw new Error('leadership change');
  });

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
  const pulled = consumerOf(async function* messages(stopped) {
    for (; yielded < 1_000; yielded++) yield message('x', Buffer.alloc(1_048_576));
    await stopped;
  });
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
  const stopped = loop.stop();
  await jest.advanceTimersByTimeAsync(1_000);
  await stopped;
});
